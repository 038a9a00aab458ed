package reply

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Bytes writes a whole answer.
func Bytes(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // see doc.go
}

// JSON writes v, which must be of a type that JSON can hold.
func JSON(w http.ResponseWriter, status int, v any) { As(w, status, "application/json", v) }

// As writes v as JSON of a media type of its own.
func As(w http.ResponseWriter, status int, contentType string, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a bug of the caller
	}
	Bytes(w, status, contentType, body.Bytes())
}
