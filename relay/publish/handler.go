package publish

import (
	_ "embed"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"

	"fencepost/lifecycle/fence"
	"fencepost/relay/web/nip98"
	"fencepost/relay/web/reply"
)

// maxChange bounds the body of a call that changes a fence, in bytes.
const maxChange = 4 << 10

// openAPI describes the calls; TestTheDescriptionIsWhatIsServed holds it to the handlers.
//
//go:embed openapi.json
var openAPI []byte

// Options make the handler. All must be set.
type Options struct {
	Engine   Engine
	Verifier *nip98.Verifier
	// MayHold says whether the holder of a key may have streams; its error is shown.
	MayHold func(key string) error
	MaxBody func() int64 // bytes of a call that publishes; must not block
	Logger  *slog.Logger
}

type handler struct{ Options }

// New returns the handler of everything below /api/.
func New(o Options) http.Handler {
	h := &handler{o}
	mux := http.NewServeMux()
	mux.Handle("/api/openapi.json", h.only(http.MethodGet, h.describe))
	mux.Handle("/api/publishers/{stream}", h.only(http.MethodGet, h.look))
	mux.Handle("/api/publishers/{stream}/fence", h.only(http.MethodPost, h.set))
	mux.Handle("/api/publishers/{stream}/frames", h.only(http.MethodPost, h.publish))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		reply.Refuse(w, http.StatusNotFound, "there is no such call")
	})
	return mux
}

// only serves one method, and what browsers ask before a call from another origin.
func (h *handler) only(method string, next http.HandlerFunc) http.Handler {
	allowed := method + ", OPTIONS"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := w.Header()
		out.Set("Cache-Control", "no-store")
		out.Set("Access-Control-Allow-Origin", "*")
		switch {
		case r.Method == method || r.Method == http.MethodHead && method == http.MethodGet:
			next(w, r)
		case r.Method == http.MethodOptions:
			out.Set("Allow", allowed)
			out.Set("Access-Control-Allow-Methods", allowed)
			out.Set("Access-Control-Allow-Headers", "*, Authorization") // which the wildcard does not stand for
			out.Set("Access-Control-Max-Age", "86400")
			w.WriteHeader(http.StatusNoContent)
		default:
			out.Set("Allow", allowed)
			reply.Refuse(w, http.StatusMethodNotAllowed, "the call is made with "+method)
		}
	})
}

func (h *handler) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // an error means that the client is gone
}

func (h *handler) look(w http.ResponseWriter, r *http.Request) {
	s, ok := h.enter(w, r, nil)
	if !ok {
		return
	}
	v, err := h.Engine.Look(r.Context(), s)
	switch {
	case err != nil:
		h.fail(w, s, err)
	case !v.Exists():
		reply.Refuse(w, http.StatusNotFound, "the stream has no fence")
	default:
		reply.JSON(w, http.StatusOK, show(s.Name, v))
	}
}

func (h *handler) set(w http.ResponseWriter, r *http.Request) {
	body, ok := read(w, r, maxChange)
	if !ok {
		return
	}
	s, ok := h.enter(w, r, body)
	if !ok {
		return
	}
	c, err := decodeChange(body)
	if err != nil {
		reply.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	epoch, err := h.Engine.Set(r.Context(), s, c)
	if err != nil {
		h.fail(w, s, err)
		return
	}
	reply.JSON(w, http.StatusOK, claimed{Stream: s.Name, Epoch: epoch, Active: c.Active, Lease: int64(c.Lease.Seconds())})
}

func (h *handler) publish(w http.ResponseWriter, r *http.Request) {
	body, ok := read(w, r, h.MaxBody())
	if !ok {
		return
	}
	s, ok := h.enter(w, r, body)
	if !ok {
		return
	}
	token, ev, err := decodeFrame(body)
	if err != nil {
		reply.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	got, err := h.Engine.Publish(r.Context(), s, token, []string{s.Owner}, ev)
	switch {
	case err != nil:
		h.fail(w, s, err)
	case got.Refused:
		reply.Fenced(w, http.StatusUnprocessableEntity, "REFUSED", got.Reason, got.Epoch)
	default:
		reply.JSON(w, http.StatusOK, admitted{
			Stream: s.Name, Duplicate: got.Duplicate, Position: got.Position, Epoch: got.Epoch, Number: got.Number, Message: got.Reason,
		})
	}
}

// enter returns the stream of a call, which belongs to who signed it. It uses the token
// of the call up, so it comes after everything that only looks at the form of the call.
func (h *handler) enter(w http.ResponseWriter, r *http.Request, body []byte) (s fence.Stream, ok bool) {
	if s.Name = r.PathValue("stream"); !fence.ValidName(s.Name) {
		reply.Refuse(w, http.StatusBadRequest, "a stream's name is 1 to 64 characters of a-z, A-Z, 0-9, - _ and .")
		return s, false
	}
	var err error
	if s.Owner, err = h.Verifier.Verify(r, body, h.MayHold); err != nil {
		reply.Unverified(w, err)
		return s, false
	}
	return s, true
}

// read reads the body of a call, of at most most bytes.
func read(w http.ResponseWriter, r *http.Request, most int64) (body []byte, ok bool) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		reply.Refuse(w, http.StatusUnsupportedMediaType, "the Content-Type of a call is application/json")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		reply.Refuse(w, http.StatusRequestEntityTooLarge, "the body is too long")
	case err != nil:
		reply.Refuse(w, http.StatusBadRequest, "the body could not be read")
	}
	return body, err == nil
}
