package bench_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/regress/bench"
	"fencepost/relay/wire"
)

func TestParse(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("ab", 32)
	for _, tc := range []struct {
		in   string
		want bench.Parsed
	}{
		{`["OK","` + id + `",true,""]`, bench.Parsed{OK: true, Verb: "OK", Name: id, Accepted: true}},
		{`["OK","` + id + `",false,"blocked: \"no\""]`, bench.Parsed{OK: true, Verb: "OK", Name: id, Text: `blocked: \"no\"`}},
		{`["OK","` + id + `",true]`, bench.Parsed{OK: true, Verb: "OK", Name: id, Accepted: true}},
		{` [ "EOSE" , "a" ] `, bench.Parsed{OK: true, Verb: "EOSE", Name: "a"}},
		{`["CLOSED","a","error: x"]`, bench.Parsed{OK: true, Verb: "CLOSED", Name: "a", Text: "error: x"}},
		{`["NOTICE","hello"]`, bench.Parsed{OK: true, Verb: "NOTICE", Name: "hello"}},
		{`["AUTH","challenge"]`, bench.Parsed{OK: true, Name: "challenge"}},
		{`["EVENT","a\\",{"id":"` + id + `"}]`, bench.Parsed{OK: true, Verb: "EVENT", Name: `a\\`, ID: id}},
		{`["EVENT","a",{"tags":[["id","id"]],"content":"\"id\":\"x\"", "id" : "` + id + `"}]`, bench.Parsed{OK: true, Verb: "EVENT", Name: "a", ID: id}},
		{`["EVENT","a",{}]`, bench.Parsed{OK: true, Verb: "EVENT", Name: "a"}},
		{`["EVENT"`, bench.Parsed{Verb: "EVENT"}},
		{`["EVENT","a`, bench.Parsed{Verb: "EVENT"}},
		{`{}`, bench.Parsed{}},
		{``, bench.Parsed{}},
	} {
		require.Equal(t, tc.want, bench.Parse([]byte(tc.in)), tc.in)
	}
}

// FuzzParse compares with the decoder of the vocabulary: what that understands,
// this one sees alike.
func FuzzParse(f *testing.F) {
	id, sig := strings.Repeat("ab", 32), strings.Repeat("cd", 64)
	event := `{"id":"` + id + `","pubkey":"` + id + `","created_at":1,"kind":1,"tags":[["id","x"]],"content":"\"id\":","sig":"` + sig + `"}`
	for _, seed := range []string{
		`["OK","` + id + `",true,"duplicate: x"]`, `["OK","x",false]`, `["EOSE","a",["more"]]`, `["CLOSED","a","x"]`,
		`["NOTICE","\u0041\\"]`, `["EVENT","s",` + event + `]`, ` [ "EVENT" , "s\"" , ` + event + ` ] `, `["COUNT","a",{"count":1}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := bench.Parse([]byte(in))
		want, err := wire.DecodeRelay([]byte(in))
		if err != nil || strings.Contains(in, `\`) && !plainVerb(in) {
			return
		}
		require.True(t, got.OK)
		switch want.Verb {
		case "EVENT":
			require.Equal(t, want.Event.ID, got.ID)
			require.Equal(t, want.Sub, unescaped(t, got.Name))
		case "OK":
			require.Equal(t, want.ID, unescaped(t, got.Name))
			require.Equal(t, want.OK, got.Accepted)
			require.Equal(t, want.Text, unescaped(t, got.Text))
		case "EOSE", "CLOSED":
			require.Equal(t, want.Verb, got.Verb)
			require.Equal(t, want.Sub, unescaped(t, got.Name))
		case "NOTICE":
			require.Equal(t, want.Text, unescaped(t, got.Name))
		default:
			require.Empty(t, got.Verb)
		}
	})
}

// plainVerb reports whether the type and the keys that matter are written without
// escapes, as every relay writes them.
func plainVerb(in string) bool {
	for _, verb := range []string{"EVENT", "OK", "EOSE", "CLOSED", "NOTICE"} {
		if strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(in, " \t\r\n"), "["), " \t\r\n"), `"`+verb+`"`) {
			return verb != "EVENT" || strings.Contains(in, `"id"`)
		}
	}
	return false
}

func unescaped(t *testing.T, s string) (out string) {
	require.NoError(t, json.Unmarshal([]byte(`"`+s+`"`), &out))
	return out
}
