package nip98

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fencepost/relay/wire"
)

// names reports whether claimed is the URL of r under one of bases, of which
// scheme and host count. The query must be the same to the letter.
func names(claimed string, r *http.Request, bases []string) bool {
	address, query, _ := strings.Cut(claimed, "?")
	got, ok := wire.NormalURL(address)
	if !ok || query != r.URL.RawQuery {
		return false
	}
	return slices.ContainsFunc(bases, func(base string) bool {
		b, err := url.Parse(base)
		if err != nil {
			return false
		}
		want, ok := wire.NormalURL(b.Scheme + "://" + b.Host + r.URL.EscapedPath())
		return ok && got == want
	})
}
