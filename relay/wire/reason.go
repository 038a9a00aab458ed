package wire

// Prefix is the machine-readable word that begins a refusal (NIP-01, NIP-42), or an
// acceptance about which there is something to say.
type Prefix string

const (
	Duplicate    Prefix = "duplicate"
	PoW          Prefix = "pow"
	Blocked      Prefix = "blocked"
	RateLimited  Prefix = "rate-limited"
	Invalid      Prefix = "invalid"
	Restricted   Prefix = "restricted"
	Mute         Prefix = "mute"
	Unsupported  Prefix = "unsupported"
	AuthRequired Prefix = "auth-required"
	Failed       Prefix = "error"
	Info         Prefix = "info" // beside an OK that is true (NIP-43)
)

// Reason is what a client reads in OK, CLOSED and NOTICE: a prefix and a
// sentence. It never holds internal error text.
type Reason struct {
	Prefix Prefix
	Text   string
}

// Because makes a Reason.
func Because(p Prefix, text string) Reason { return Reason{Prefix: p, Text: text} }

// String returns "prefix: text", or "" for the zero Reason.
func (r Reason) String() string {
	if r.Prefix == "" {
		return r.Text
	}
	return string(r.Prefix) + ": " + r.Text
}

// Error makes a Reason usable as an error, so that a decision can be returned.
func (r Reason) Error() string { return r.String() }
