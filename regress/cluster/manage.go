package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"fencepost/relay/web/nip98"
)

// Manage carries out one method of NIP-86, with parameters, on the replica. secret is the
// operator's.
func (r *Replica) Manage(ctx context.Context, secret, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		return err
	}
	page := r.page("")
	soon := time.Now().Add(time.Second) // a relay takes no token of the second in which it started
	header, err := nip98.Header(secret, http.MethodPost, page, body, soon)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, page, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", header)
	request.Header.Set("Content-Type", "application/nostr+json+rpc")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"error"`))) {
		err = fmt.Errorf("%s: %s: %s", method, response.Status, answer)
	}
	return err
}
