package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"fencepost/relay/config"
	"fencepost/relay/web/reply"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// page is the landing page. It has no script and loads nothing; its one style
// sheet is in the page, and the policy admits exactly that one.
type page struct {
	template *template.Template
	style    template.HTML
	policy   string
}

func newPage() *page {
	sum := sha256.Sum256([]byte(pageCSS))
	return &page{
		template: template.Must(template.New("page").Parse(pageHTML)),
		style:    template.HTML("<style>" + pageCSS + "</style>"),
		policy: "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
}

// view is what the template sees.
type view struct {
	document
	Style      template.HTML
	URL        string
	Paragraphs []string
	Link       string // contact, when it is a link
	NIPs       []nip
	Facts      []fact
}

type nip struct{ Number, Link string }

type fact struct{ Name, Value string }

func (s *server) servePage(w http.ResponseWriter, r *http.Request, c config.Config) {
	d := s.document(c)
	v := view{document: d, Style: s.page.style, URL: publicURL(r, c), Facts: facts(d.Limitation, c)}
	if v.Name == "" {
		v.Name = "Nostr relay"
	}
	for p := range strings.SplitSeq(strings.ReplaceAll(d.Description, "\r\n", "\n"), "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			v.Paragraphs = append(v.Paragraphs, p)
		}
	}
	if strings.HasPrefix(d.Contact, "mailto:") || strings.HasPrefix(d.Contact, "https://") {
		v.Link = d.Contact
	}
	for _, n := range d.SupportedNIPs {
		id := strconv.Itoa(n)
		if n < 10 {
			id = "0" + id
		}
		v.NIPs = append(v.NIPs, nip{id, "https://github.com/nostr-protocol/nips/blob/master/" + id + ".md"})
	}
	var body bytes.Buffer
	if err := s.page.template.Execute(&body, v); err != nil {
		panic(err) // a bug: the template and its values are both in this package
	}
	h := w.Header()
	h.Set("Content-Security-Policy", s.page.policy)
	h.Set("Referrer-Policy", "no-referrer")
	reply.Bytes(w, http.StatusOK, "text/html; charset=utf-8", body.Bytes())
}

// publicURL returns what a person should paste into a client. Without relay.urls
// it is made of what the browser asked for; nothing depends on its being true.
func publicURL(r *http.Request, c config.Config) string {
	if len(c.Relay.URLs) > 0 {
		return c.Relay.URLs[0]
	}
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return "wss://" + r.Host
	}
	return "ws://" + r.Host
}

func facts(l limitation, c config.Config) (list []fact) {
	add := func(name, value string) { list = append(list, fact{name, value}) }
	count := func(name string, n int, unit string) {
		if n > 0 {
			add(name, group(n)+unit)
		}
	}
	add("Message", "up to "+c.WebSocket.MaxMessage.String())
	count("Subscriptions", l.MaxSubscriptions, " a connection")
	count("Filters", l.MaxFilters, " a subscription")
	count("Stored events", l.MaxLimit, " a filter")
	count("Content", l.MaxContentLength, " characters")
	count("Tags", l.MaxEventTags, " an event")
	count("Proof of work", l.MinPoWDifficulty, " bits")
	switch c.Auth.Require {
	case config.RequireAll:
		add("Authentication", "required")
	case config.RequireWrite:
		add("Authentication", "required to write")
	default:
		add("Authentication", "only where needed")
	}
	switch c.Membership.Require {
	case config.RequireAll:
		add("Membership", "required")
	case config.RequireWrite:
		add("Membership", "required to write")
	}
	switch c.Groups.Create {
	case config.CreateAnyone:
		add("Groups", "anyone may create one")
	case config.CreateOperator:
		add("Groups", "created by the operator")
	}
	return list
}

// group writes 262144 as 262,144.
func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
