package control_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
)

var (
	alice = strings.Repeat("a", 64)
	event = strings.Repeat("1", 64)
)

// valid has a row of every type, with all that it may have.
var valid = []control.Row{
	{Type: control.KeyBanned, Key: alice, Reason: "spam", Stamp: 1},
	{Type: control.KeyUnbanned, Key: alice},
	{Type: control.KeyVanished, Key: alice, Until: 1700000000, Stamp: 5},
	{Type: control.MemberPut, Key: alice, Claim: "come", Stamp: 2},
	{Type: control.MemberRemoved, Key: alice, Stamp: 3},
	{Type: control.ClaimPut, Claim: "come", Uses: 3, Expires: 1700000000},
	{Type: control.ClaimRemoved, Claim: "come"},
	{Type: control.KindsDisallowed, Kinds: []int{0, 65535}, Undo: true},
	{Type: control.KindsAllowed, Kinds: []int{1}},
	{Type: control.AddressBlocked, Address: "192.0.2.0/24", Reason: "noise"},
	{Type: control.AddressBlocked, Address: "2001:db8::1"},
	{Type: control.AddressUnblocked, Address: "192.0.2.7"},
	{Type: control.EventBanned, ID: event, Reason: "no"},
	{Type: control.EventUnbanned, ID: event},
	{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1, Roles: []string{"king"}},
	{Type: control.GroupEdited, Group: "pizza", Tags: nostr.Tags{{"name", "Pizza"}, {"private"}}, Stamp: 2},
	{Type: control.GroupDeleted, Group: "pizza"},
	{Type: control.GroupPut, Group: "pizza", Key: alice, Roles: []string{"cook"}, Codes: []string{"x"}, Stamp: 3},
	{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 4},
	{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 4, Bar: true},
	{Type: control.GroupInvite, Group: "pizza", Codes: []string{"x", "y"}},
	{Type: control.GroupPinned, Group: "pizza", Tags: nostr.Tags{{"e", event}}, Stamp: 5},
	{Type: control.GroupPinned, Group: "pizza", Stamp: 6},
}

func TestEveryRowIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, want := range valid {
		data, err := control.Encode(want)
		require.NoError(t, err, want.Type)
		got, err := control.Decode(data)
		require.NoError(t, err, want.Type)
		want.Version = control.Version
		require.Equal(t, want, got)
	}
}

func TestRowWithoutWhatItsTypeNeedsIsNeitherWrittenNorRead(t *testing.T) {
	t.Parallel()
	bad := map[string]control.Row{
		"no type":              {Key: alice},
		"unknown type":         {Type: "key.praised", Key: alice},
		"no key":               {Type: control.KeyBanned},
		"short key":            {Type: control.KeyBanned, Key: alice[1:]},
		"capital key":          {Type: control.KeyBanned, Key: strings.ToUpper(alice)},
		"surplus field":        {Type: control.KeyUnbanned, Key: alice, Group: "pizza"},
		"no until":             {Type: control.KeyVanished, Key: alice},
		"negative until":       {Type: control.KeyVanished, Key: alice, Until: -1},
		"negative uses":        {Type: control.ClaimPut, Claim: "x", Uses: -1},
		"negative expiry":      {Type: control.ClaimPut, Claim: "x", Expires: -1},
		"long claim":           {Type: control.ClaimPut, Claim: strings.Repeat("x", 257)},
		"invalid UTF-8":        {Type: control.ClaimPut, Claim: "\xff"},
		"no kinds":             {Type: control.KindsAllowed},
		"kind out of range":    {Type: control.KindsAllowed, Kinds: []int{65536}},
		"negative kind":        {Type: control.KindsDisallowed, Kinds: []int{1, -1}},
		"too many kinds":       {Type: control.KindsDisallowed, Kinds: make([]int, 4097)},
		"no address":           {Type: control.AddressBlocked, Address: "example.org"},
		"prefix with host":     {Type: control.AddressBlocked, Address: "192.0.2.1/24"},
		"another spelling":     {Type: control.AddressBlocked, Address: "2001:DB8::1"},
		"mapped address":       {Type: control.AddressBlocked, Address: "::ffff:192.0.2.1"},
		"zone":                 {Type: control.AddressBlocked, Address: "fe80::1%eth0"},
		"no id":                {Type: control.EventBanned, ID: "1"},
		"group without admin":  {Type: control.GroupCreated, Group: "pizza", Stamp: 1},
		"no stamp":             {Type: control.GroupEdited, Group: "pizza"},
		"negative stamp":       {Type: control.GroupEdited, Group: "pizza", Stamp: -1},
		"bar of a member":      {Type: control.GroupPut, Group: "pizza", Key: alice, Stamp: 1, Bar: true},
		"empty role":           {Type: control.GroupPut, Group: "pizza", Key: alice, Stamp: 1, Roles: []string{""}},
		"empty tag":            {Type: control.GroupEdited, Group: "pizza", Stamp: 1, Tags: nostr.Tags{{}}},
		"tag of invalid UTF-8": {Type: control.GroupEdited, Group: "pizza", Stamp: 1, Tags: nostr.Tags{{"name", "\xff"}}},
		"invite without code":  {Type: control.GroupInvite, Group: "pizza"},
		"long reason":          {Type: control.KeyBanned, Key: alice, Reason: strings.Repeat("x", 4097)},
	}
	for name, row := range bad {
		_, err := control.Encode(row)
		require.ErrorIs(t, err, control.ErrBad, name)
		row.Version = control.Version
		data, err := json.Marshal(row)
		require.NoError(t, err, name)
		if strings.Contains(name, "UTF-8") {
			continue // JSON cannot hold it
		}
		_, err = control.Decode(data)
		require.ErrorIs(t, err, control.ErrBad, name)
	}
}

func TestHugeRowIsNotWritten(t *testing.T) {
	t.Parallel()
	huge := nostr.Tags{{"about", strings.Repeat("x", control.MaxBytes)}}
	_, err := control.Encode(control.Row{Type: control.GroupEdited, Group: "pizza", Stamp: 1, Tags: huge})
	require.ErrorIs(t, err, control.ErrBad)
	_, err = control.Decode(make([]byte, control.MaxBytes+1))
	require.ErrorIs(t, err, control.ErrBad)
}

func TestDecodeRefusesWhatThisVersionDoesNotWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		``:     control.ErrBad,
		`null`: control.ErrBad,
		`{"type":"key.unbanned","key":"` + alice + `"}`:                    control.ErrBad,
		`{"v":-1,"type":"key.unbanned","key":"` + alice + `"}`:             control.ErrBad,
		`{"v":1,"type":"key.unbanned","key":"` + alice + `","mood":"bad"}`: control.ErrBad,
		`{"v":1,"type":"key.unbanned","key":"` + alice + `"} 1`:            control.ErrBad,
		`{"v":1,"type":"key.unbanned","key":7}`:                            control.ErrBad,
		`{"v":2,"type":"key.unbanned","key":7,"mood":"bad"}`:               control.ErrNewer,
		`{"v":1,"type":"key.unbanned","key":"` + alice + `"}`:              nil,
	} {
		_, err := control.Decode([]byte(text))
		require.ErrorIs(t, err, want, text)
	}
}

func FuzzDecode(f *testing.F) {
	for _, row := range valid {
		data, err := control.Encode(row)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		row, err := control.Decode(data)
		if err != nil {
			require.True(t, isKnown(err), err)
			return
		}
		again, err := control.Encode(row)
		if err != nil && len(data) > control.MaxBytes/8 {
			return // escapes made it longer than it was
		}
		require.NoError(t, err)
		back, err := control.Decode(again)
		require.NoError(t, err)
		require.Equal(t, row, back)
	})
}

func isKnown(err error) bool {
	return errors.Is(err, control.ErrBad) || errors.Is(err, control.ErrNewer)
}
