package publish_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/relay/publish"
)

// What is read is what the plain way of reading JSON gives, however strange the body.
func FuzzDecodeChange(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"new_token":"` + one + `","active":true}`,
		`{"expected_token":"` + one + `","new_token":"` + two + `","active":false,"lease_seconds":1e1}`,
		`{"new_token":"` + one + `","active":true,"active":false}`, `{"new_token":"\ud800aaaaaaaaaaaaaaaaaaaa","active":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := publish.DecodeChange(body)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		var slow struct {
			Expected string `json:"expected_token"`
			New      string `json:"new_token"`
			Active   *bool  `json:"active"`
			Lease    *int64 `json:"lease_seconds"`
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&slow))
		require.Equal(t, fence.TokenOf(slow.Expected), got.Expected)
		require.Equal(t, fence.TokenOf(slow.New), got.New)
		require.Equal(t, *slow.Active, got.Active)
		require.GreaterOrEqual(t, got.Lease, fence.MinLease)
		require.LessOrEqual(t, got.Lease, fence.MaxLease)
		if slow.Lease != nil {
			require.EqualValues(t, *slow.Lease, got.Lease.Seconds())
		}
	})
}

func FuzzDecodeFrame(f *testing.F) {
	ev := event(f, alice, "1")
	for _, seed := range []string{``, `{}`, `{"token":"` + one + `","event":` + string(ev.Raw()) + `}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		token, got, err := publish.DecodeFrame(body)
		if err != nil {
			return
		}
		var slow struct {
			Token string          `json:"token"`
			Event json.RawMessage `json:"event"`
		}
		require.NoError(t, json.Unmarshal(body, &slow))
		require.Equal(t, fence.TokenOf(slow.Token), token)
		require.NotNil(t, got)
		require.NotEmpty(t, got.Raw())
	})
}
