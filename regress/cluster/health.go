package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Ready asks for the readiness of the replica.
func (r *Replica) Ready(ctx context.Context) (status int, body string, err error) {
	return r.get(ctx, "/readyz")
}

// Position asks up to which position of the log the replica has come.
func (r *Replica) Position(ctx context.Context) (uint64, error) {
	_, body, err := r.Ready(ctx)
	if err != nil {
		return 0, err
	}
	var said struct {
		Position uint64 `json:"position"`
	}
	err = json.Unmarshal([]byte(body), &said)
	return said.Position, err
}

// Healthy asks whether the process says that it lives.
func (r *Replica) Healthy(ctx context.Context) (bool, error) {
	status, _, err := r.get(ctx, "/healthz")
	return status == http.StatusOK, err
}

// Metric returns a metric without labels.
func (r *Replica) Metric(ctx context.Context, name string) (float64, error) {
	_, body, err := r.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	for s := bufio.NewScanner(strings.NewReader(body)); s.Scan(); {
		if value, ok := strings.CutPrefix(s.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

func (r *Replica) get(ctx context.Context, path string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.page(path), nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return response.StatusCode, string(b), err
}
