package dapr

import (
	"encoding/json"
	"net/http"
	"slices"

	"fencepost/lifecycle/fence/kv"
)

// Component is the name of the state component that a Sidecar has.
const Component = "statestore"

// Sidecar serves m as Dapr would.
func Sidecar(m *Memory) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1.0/metadata", func(w http.ResponseWriter, _ *http.Request) {
		has := []string{}
		for _, c := range []string{"ACTOR", "CRUD", "ETAG", "TRANSACTIONAL", "TTL"} {
			if !slices.Contains(m.missing, c) {
				has = append(has, c)
			}
		}
		answer(w, http.StatusOK, map[string]any{"id": "fencepost", "components": []any{
			map[string]any{"name": "pubsub", "type": "pubsub.redis", "version": "v1"},
			map[string]any{"name": Component, "type": "state.redis", "version": "v1", "capabilities": has},
		}})
	})
	mux.HandleFunc("GET /v1.0/state/"+Component+"/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, etag, err := m.Get(r.Context(), r.PathValue("key"))
		switch {
		case err != nil:
			fail(w, "ERR_STATE_GET", err)
		case etag == "":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("ETag", etag)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(value) // an error means that the client is gone
		}
	})
	mux.HandleFunc("POST /v1.0/state/"+Component+"/transaction", func(w http.ResponseWriter, r *http.Request) {
		ops, err := decode(r)
		if err != nil {
			answer(w, http.StatusBadRequest, map[string]string{"errorCode": "ERR_MALFORMED_REQUEST", "message": err.Error()})
			return
		}
		if err := m.Transact(r.Context(), ops); err != nil {
			fail(w, "ERR_STATE_TRANSACTION", err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// decode reads a transaction.
func decode(r *http.Request) (ops []kv.Op, err error) {
	var all struct {
		Operations []struct {
			Operation string `json:"operation"`
			Request   struct {
				Key     string          `json:"key"`
				Value   json.RawMessage `json:"value"`
				ETag    string          `json:"etag"`
				Options struct {
					Concurrency string `json:"concurrency"`
				} `json:"options"`
			} `json:"request"`
		} `json:"operations"`
	}
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		return nil, err
	}
	for _, o := range all.Operations {
		op := kv.Op{Key: o.Request.Key, Guard: o.Request.Options.Concurrency == "first-write", ETag: o.Request.ETag}
		if o.Operation == "upsert" {
			op.Value = o.Request.Value
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func fail(w http.ResponseWriter, code string, err error) {
	answer(w, http.StatusInternalServerError, map[string]string{"errorCode": code, "message": err.Error()})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
}
