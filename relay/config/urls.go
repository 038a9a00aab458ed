package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// taken are the paths that the relay serves itself; the socket cannot be there.
var taken = []string{"/healthz", "/readyz", "/metrics", "/api"}

// Path returns where the socket is served: the path of the public URLs without
// a trailing slash, "/" when they have none or there are none.
func (r Relay) Path() string {
	if len(r.URLs) == 0 {
		return "/"
	}
	u, err := url.Parse(r.URLs[0])
	if err != nil {
		return "/"
	}
	return socketPath(u)
}

func socketPath(u *url.URL) string {
	if p := strings.TrimRight(u.Path, "/"); p != "" {
		return p
	}
	return "/"
}

// urls is the rule of relay.urls.
type urls struct{}

func (urls) check(field any) string {
	var first string
	for i, s := range *field.(*[]string) {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "" ||
			u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
			return fmt.Sprintf("%q must be a ws or wss URL without user, query and fragment", s)
		}
		path := socketPath(u)
		if i == 0 {
			first = path
		}
		if path != first {
			return fmt.Sprintf("%q must have the path %q like the first one: the socket is served at one path", s, first)
		}
		if slices.ContainsFunc(taken, func(t string) bool { return path == t || strings.HasPrefix(path, t+"/") }) {
			return fmt.Sprintf("%q must not have a path that the relay serves itself", s)
		}
	}
	return ""
}
