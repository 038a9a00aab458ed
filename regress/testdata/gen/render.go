package main

import (
	"bytes"
	"encoding/json"

	"fencepost/relay/wire"
)

// render returns the event as a line: mostly in its wire form, at times as other
// relays export it, with blanks, other escapes, another order or a surplus field.
func (g *generator) render(e *wire.Event) []byte {
	switch g.random.IntN(25) {
	case 0:
		return spaced(e.Raw())
	case 1:
		return bytes.ReplaceAll(e.Raw(), []byte("/"), []byte(`\/`))
	case 2:
		return reordered(e)
	default:
		return e.Raw()
	}
}

// spaced sets a blank behind every comma and colon outside strings.
func spaced(raw []byte) []byte {
	var out []byte
	inString := false
	for i := 0; i < len(raw); i++ {
		out = append(out, raw[i])
		switch {
		case inString && raw[i] == '\\':
			i++
			out = append(out, raw[i])
		case raw[i] == '"':
			inString = !inString
		case !inString && (raw[i] == ',' || raw[i] == ':'):
			out = append(out, ' ')
		}
	}
	return out
}

// reordered has the fields in alphabetical order, the escapes of encoding/json
// and one field that is not of the event.
func reordered(e *wire.Event) []byte {
	out, _ := json.Marshal(map[string]any{ // strings and numbers always marshal
		"id": e.ID, "pubkey": e.PubKey, "created_at": e.CreatedAt, "kind": e.Kind,
		"tags": e.Tags, "content": e.Content, "sig": e.Sig, "seen_on": []string{"wss://relay.example"},
	})
	return out
}
