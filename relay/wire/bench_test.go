package wire_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mailru/easyjson"
	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// typical returns an event of about 600 bytes with four tags.
func typical(b *testing.B) *wire.Event {
	return signed(b, "A note of usual length.\nIt has a line break, an emoji 😀 and a \"quote\".",
		nostr.Tag{"e", hexA, "wss://relay.example.com", "root"}, nostr.Tag{"p", hexB}, nostr.Tag{"t", "nostr"}, nostr.Tag{"client", "some"})
}

func BenchmarkDecodeEvent(b *testing.B) {
	// Many events: the digits of one would be learnt by the branch predictor.
	var raws [256][]byte
	for i := range raws {
		raws[i] = signed(b, fmt.Sprint("A note of usual length, number ", i, ".\nIt has a line break, an emoji 😀 and a \"quote\"."),
			nostr.Tag{"e", fmt.Sprintf("%064x", i), "wss://relay.example.com", "root"}, nostr.Tag{"p", hexB}, nostr.Tag{"t", "nostr"}, nostr.Tag{"client", "some"}).Raw()
	}
	run := func(name string, decode func(raw []byte) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raws[0])))
			for i := 0; b.Loop(); i++ {
				if err := decode(raws[i%len(raws)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("wire", func(raw []byte) error { _, err := wire.DecodeEvent(raw); return err })
	run("easyjson", func(raw []byte) error { var e nostr.Event; return easyjson.Unmarshal(raw, &e) })
	type plain struct { // no methods, so that encoding/json does it by itself
		ID, PubKey, Content, Sig string
		CreatedAt                int64 `json:"created_at"`
		Kind                     int
		Tags                     [][]string
	}
	run("encoding-json", func(raw []byte) error { var e plain; return json.Unmarshal(raw, &e) })
}

func BenchmarkDecodeReq(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		f := nostr.Filter{Kinds: []int{1, 6}, Limit: 100}
		for i := range n {
			f.Authors = append(f.Authors, fmt.Sprintf("%064x", i))
		}
		message := wire.AppendReq(nil, "sub", []*wire.Filter{wire.NewFilter(f)})
		b.Run(fmt.Sprintf("authors=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(message)))
			for b.Loop() {
				if _, err := wire.Decode(message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	e := typical(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Verify(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatches(b *testing.B) {
	e := typical(b)
	for name, f := range map[string]nostr.Filter{
		"kind":         {Kinds: []int{1}},
		"author":       {Authors: []string{hexA, hexB, e.PubKey}},
		"authors=1000": {Authors: append(manyHex(999), e.PubKey)},
		"tags":         {Kinds: []int{1}, Tags: nostr.TagMap{"t": {"nostr"}, "p": {hexA, hexB}}},
	} {
		prepared := wire.NewFilter(f)
		b.Run(name+"/wire", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !prepared.Matches(e) {
					b.Fatal("no match")
				}
			}
		})
		b.Run(name+"/go-nostr", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !f.Matches(&e.Event) {
					b.Fatal("no match")
				}
			}
		})
	}
}

func manyHex(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%064x", i))
	}
	return list
}
