package wire

import (
	"net/url"
	"strings"
)

// NormalURL brings a relay URL into the form in which two are compared (NIP-42,
// NIP-62, NIP-98): ws or wss, for which http and https are other names, lower-case
// scheme and host, no dot behind it, no default port, no user, no fragment, no
// trailing slash; the rest of the path counts. It returns false for what is no
// such URL and for one with a query.
func NormalURL(raw string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" || u.RawQuery != "" {
		return "", false
	}
	if strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "[") { // two ports, of which the last could be a default
		return "", false
	}
	host, ok := normalHost(u.Hostname())
	scheme := normalScheme(u.Scheme)
	if !ok || scheme == "" {
		return "", false
	}
	port := u.Port()
	if scheme == "ws" && port == "80" || scheme == "wss" && port == "443" {
		port = ""
	}
	if port != "" {
		port = ":" + port
	}
	return scheme + "://" + host + port + strings.TrimRight(u.EscapedPath(), "/"), true
}

func normalScheme(scheme string) string {
	switch strings.ToLower(scheme) {
	case "ws", "http":
		return "ws"
	case "wss", "https":
		return "wss"
	default:
		return ""
	}
}

func normalHost(name string) (host string, ok bool) {
	host = strings.ToLower(strings.TrimRight(name, "."))
	if strings.Contains(host, ":") {
		return "[" + host + "]", !strings.Contains(host, "%") // a zone means something on one machine only
	}
	return host, host != ""
}
