package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// send writes a whole answer. An error of the write means that the client is
// gone, which is nobody's concern here.
func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // see above
}

// sendJSON writes v, which must be a type that JSON can hold.
func sendJSON(w http.ResponseWriter, status int, contentType string, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a bug: only types of this package come here
	}
	send(w, status, contentType, body.Bytes())
}

func sendError(w http.ResponseWriter, status int, text string) {
	sendJSON(w, status, "application/json", map[string]string{"error": text})
}

func refuseMethod(w http.ResponseWriter, allowed string) {
	w.Header().Set("Allow", allowed)
	sendError(w, http.StatusMethodNotAllowed, "method not allowed")
}
