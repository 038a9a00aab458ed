package web

import (
	"net/http"
	"slices"
	"time"

	"fencepost/relay/config"
	"fencepost/relay/web/reply"
	"fencepost/relay/wire"
)

// document is the relay information document of NIP-11.
type document struct {
	Name           string     `json:"name,omitempty"`
	Description    string     `json:"description,omitempty"`
	Banner         string     `json:"banner,omitempty"`
	Icon           string     `json:"icon,omitempty"`
	PubKey         string     `json:"pubkey,omitempty"`
	Self           string     `json:"self,omitempty"`
	Contact        string     `json:"contact,omitempty"`
	SupportedNIPs  []int      `json:"supported_nips"`
	Software       string     `json:"software,omitempty"`
	Version        string     `json:"version,omitempty"`
	PostingPolicy  string     `json:"posting_policy,omitempty"`
	TermsOfService string     `json:"terms_of_service,omitempty"`
	Limitation     limitation `json:"limitation"`
	Groups         *groups    `json:"nip29,omitempty"`
	Changes        *changes   `json:"changes,omitempty"` // of the draft NIP-CF
}

// groups says what of NIP-29 is served.
type groups struct {
	Subgroups  bool  `json:"subgroups"`
	MaxGroups  int   `json:"max_groups,omitempty"`
	MaxPerKey  int   `json:"max_groups_per_key,omitempty"`
	MaxMembers int   `json:"max_members,omitempty"`
	MaxPins    int   `json:"max_pins,omitempty"`
	MaxAge     int64 `json:"max_event_age,omitempty"` // seconds
}

// limitation leaves out what is turned off.
type limitation struct {
	MaxMessageLength    int64 `json:"max_message_length"` // bytes
	MaxSubscriptions    int   `json:"max_subscriptions"`
	MaxFilters          int   `json:"max_filters,omitempty"`
	MaxFilterValues     int   `json:"max_filter_values,omitempty"` // of one filter
	MaxValues           int   `json:"max_values,omitempty"`        // of all filters of a REQ
	MaxLimit            int   `json:"max_limit,omitempty"`
	DefaultLimit        int   `json:"default_limit,omitempty"`
	MaxSubIDLength      int   `json:"max_subid_length"` // characters
	MaxCount            int   `json:"max_count,omitempty"`
	MaxNegRecords       int   `json:"max_negentropy_records,omitempty"`  // NIP-77, events of one negotiation
	MaxNegSessions      int   `json:"max_negentropy_sessions,omitempty"` // of a connection
	MaxEventTags        int   `json:"max_event_tags,omitempty"`
	MaxTagValueLength   int   `json:"max_tag_value_length,omitempty"` // characters
	MaxContentLength    int   `json:"max_content_length,omitempty"`   // characters
	MinPoWDifficulty    int   `json:"min_pow_difficulty"`             // bits
	AuthRequired        bool  `json:"auth_required"`
	PaymentRequired     bool  `json:"payment_required"`
	RestrictedWrites    bool  `json:"restricted_writes"`
	CreatedAtLowerLimit int64 `json:"created_at_lower_limit,omitempty"` // seconds before now
	CreatedAtUpperLimit int64 `json:"created_at_upper_limit,omitempty"` // seconds after now
}

func (s *server) document(c config.Config) document {
	d := document{
		Name:           c.Relay.Name,
		Description:    c.Relay.Description,
		Banner:         c.Relay.Banner,
		Icon:           c.Relay.Icon,
		PubKey:         c.Relay.PubKey,
		Self:           s.Self,
		Contact:        c.Relay.Contact,
		SupportedNIPs:  SupportedNIPs(c, s.Search),
		Software:       c.Relay.Software,
		Version:        s.Version,
		PostingPolicy:  c.Relay.PostingPolicy,
		TermsOfService: c.Relay.TermsOfService,
		Limitation:     limits(c),
	}
	if hasGroups(c) {
		d.Groups = &groups{
			Subgroups: true, MaxGroups: c.Groups.Max, MaxPerKey: c.Groups.MaxPerKey, MaxMembers: c.Groups.MaxMembers,
			MaxPins: c.Groups.MaxPins, MaxAge: int64(c.Groups.MaxAge / time.Second),
		}
	}
	return d
}

// hasGroups reports whether groups are served. The zero value is none.
func hasGroups(c config.Config) bool {
	return c.Groups.Create == config.CreateOperator || c.Groups.Create == config.CreateAnyone
}

// isFor reports whether a requirement is made. The zero value is none.
func isFor(r config.Requirement) bool { return r == config.RequireWrite || r == config.RequireAll }

func limits(c config.Config) limitation {
	most := lowest(c.Subscriptions.MaxLimit, c.Subscriptions.MaxTotal)
	return limitation{
		MaxMessageLength:    int64(c.WebSocket.MaxMessage),
		MaxSubscriptions:    c.Subscriptions.Max,
		MaxFilters:          c.Subscriptions.MaxFilters,
		MaxFilterValues:     c.Subscriptions.MaxFilterValues,
		MaxValues:           c.Subscriptions.MaxValues,
		MaxCount:            c.Subscriptions.MaxCount,
		MaxNegRecords:       c.Negentropy.MaxRecords,
		MaxNegSessions:      negSessions(c),
		MaxTagValueLength:   c.Events.MaxTagValue,
		MaxLimit:            most,
		DefaultLimit:        lowest(c.Subscriptions.DefaultLimit, most),
		MaxSubIDLength:      wire.MaxSubID,
		MaxEventTags:        c.Events.MaxTags,
		MaxContentLength:    c.Events.MaxContent,
		MinPoWDifficulty:    c.Events.MinPoW,
		AuthRequired:        c.Auth.Require == config.RequireAll || c.Membership.Require == config.RequireAll,
		RestrictedWrites:    isFor(c.Auth.Require) || isFor(c.Membership.Require) || c.Events.MinPoW > 0,
		CreatedAtLowerLimit: int64(c.Events.CreatedAtPast / time.Second),
		CreatedAtUpperLimit: int64(c.Events.CreatedAtFuture / time.Second),
	}
}

// negSessions is 0 where nothing is reconciled.
func negSessions(c config.Config) int {
	if c.Negentropy.MaxRecords == 0 {
		return 0
	}
	return c.Negentropy.MaxSessions
}

// lowest returns the lower of two limits, of which 0 is off.
func lowest(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// SupportedNIPs returns the numbers of the NIPs that a relay of this
// configuration serves, in rising order; search says whether its store searches.
func SupportedNIPs(c config.Config, search bool) []int {
	nips := []int{
		1,  // events, subscriptions
		9,  // deletion requests
		11, // this document
		17, // private messages are served to their author and recipients only
		40, // expiration
		42, // authentication
		45, // COUNT
		56, // reports are kept, and listed for the operator
		59, // gift wraps are served to their recipients only
		62, // requests to vanish
		67, // EOSE says whether there is more
		70, // protected events
		98, // signed requests, of publishers and of the operator
	}
	if c.Events.MinPoW > 0 {
		nips = append(nips, 13)
	}
	if search {
		nips = append(nips, 50)
	}
	if hasGroups(c) {
		nips = append(nips, 29)
	}
	if isFor(c.Membership.Require) {
		nips = append(nips, 43)
	}
	if c.Negentropy.MaxRecords > 0 {
		nips = append(nips, 77) // negotiations
	}
	if c.Relay.PubKey != "" {
		nips = append(nips, 86) // management by the operator
	}
	slices.Sort(nips)
	return nips
}

func (s *server) serveDocument(w http.ResponseWriter, r *http.Request, c config.Config) {
	d := s.document(c)
	d.Changes = s.changes(r.Context())
	reply.As(w, http.StatusOK, documentType, d)
}
