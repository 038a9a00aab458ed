package publish_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/relay/publish"
)

// schema is as much of JSON Schema as the description uses.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       string            `json:"type"`
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
	More       *bool             `json:"additionalProperties"`
	Enum       []string          `json:"enum"`
	Minimum    int64             `json:"minimum"`
	Maximum    int64             `json:"maximum"`
	Default    int64             `json:"default"`
	MinLength  int               `json:"minLength"`
	MaxLength  int               `json:"maxLength"`
	Pattern    string            `json:"pattern"`
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema schema `json:"schema"`
	} `json:"content"`
}

type operation struct {
	Responses map[string]response `json:"responses"`
}

type description struct {
	Paths map[string]struct {
		Get  *operation `json:"get"`
		Post *operation `json:"post"`
	} `json:"paths"`
	Components struct {
		Schemas    map[string]schema   `json:"schemas"`
		Responses  map[string]response `json:"responses"`
		Parameters map[string]struct {
			Schema schema `json:"schema"`
		} `json:"parameters"`
	} `json:"components"`
}

var described = sync.OnceValue(func() *description {
	raw, err := os.ReadFile("openapi.json")
	d := &description{}
	if err == nil {
		err = json.Unmarshal(raw, d)
	}
	if err != nil {
		panic(err)
	}
	return d
})

var streamSegment = regexp.MustCompile(`^/api/publishers/[^/]+`)

// requireDescribed holds an answer to the description: its call is there, its status is
// among those of the call, its body has the form that stands there.
func requireDescribed(t testing.TB, method, path string, got answer) {
	t.Helper()
	d := described()
	item, known := d.Paths[streamSegment.ReplaceAllString(path, "/api/publishers/{stream}")]
	op := item.Get
	if method == http.MethodPost {
		op = item.Post
	}
	switch {
	case method == http.MethodOptions:
		return
	case !known:
		require.Equal(t, http.StatusNotFound, got.status, path)
	case op == nil || method != http.MethodGet && method != http.MethodPost:
		require.Equal(t, http.StatusMethodNotAllowed, got.status, path)
	default:
		r, ok := op.Responses[fmt.Sprint(got.status)]
		require.True(t, ok, "%s %s is answered with %d, which is not described", method, path, got.status)
		if name, shared := strings.CutPrefix(r.Ref, "#/components/responses/"); shared {
			r = d.Components.Responses[name]
		}
		requireFits(t, r.Content["application/json"].Schema, got.body)
		return
	}
	requireFits(t, d.Components.Schemas["Refusal"], got.body)
}

func requireFits(t testing.TB, s schema, v any) {
	t.Helper()
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = described().Components.Schemas[name]
	}
	switch s.Type {
	case "object":
		object, ok := v.(map[string]any)
		require.True(t, ok)
		for _, name := range s.Required {
			require.Contains(t, object, name)
		}
		for name, value := range object {
			member, known := s.Properties[name]
			require.True(t, known || s.More == nil || *s.More, "%s is not described", name)
			if known {
				requireFits(t, member, value)
			}
		}
	case "string":
		text, ok := v.(string)
		require.True(t, ok)
		require.True(t, s.Enum == nil || slices.Contains(s.Enum, text), text)
	case "boolean":
		require.IsType(t, true, v)
	case "integer":
		n, ok := v.(float64)
		require.True(t, ok && n == float64(int64(n)))
	default:
		require.Fail(t, "a type that is not known", s.Type)
	}
}

// What the description says of limits is what the decoders enforce; that the answers are
// described is looked at in every call of these tests.
func TestTheDescriptionIsWhatIsServed(t *testing.T) {
	t.Parallel()
	served := newAPI(t).send(t, "GET", "/api/openapi.json", nil, func(*http.Request) {})
	require.Equal(t, 200, served.status)
	raw, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var file map[string]any
	require.NoError(t, json.Unmarshal(raw, &file))
	require.Equal(t, file, served.body)

	d := described().Components
	change, frame := d.Schemas["Change"].Properties, d.Schemas["Frame"].Properties
	require.EqualValues(t, fence.MinLease.Seconds(), change["lease_seconds"].Minimum)
	require.EqualValues(t, fence.MaxLease.Seconds(), change["lease_seconds"].Maximum)
	require.EqualValues(t, publish.DefaultLease.Seconds(), change["lease_seconds"].Default)
	for _, token := range []schema{change["new_token"], frame["token"]} {
		require.Equal(t, fence.MinToken, token.MinLength)
		require.Equal(t, fence.MaxToken, token.MaxLength)
	}
	name := regexp.MustCompile(d.Parameters["stream"].Schema.Pattern)
	for _, s := range []string{"", "a", "A-z_0.9", "a b", "ä", "a/b", strings.Repeat("x", fence.MaxName), strings.Repeat("x", fence.MaxName+1)} {
		require.Equal(t, fence.ValidName(s), name.MatchString(s), "%q", s)
	}
}
