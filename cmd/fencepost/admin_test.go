package main_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr/nip19"
	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
)

// managementServer answers calls of publicHex with what answers holds for a body.
func managementServer(t *testing.T, answers map[string]string) string {
	t.Helper()
	return signedServer(t, func(w http.ResponseWriter, r *http.Request, body string) {
		answer, known := answers[body]
		switch {
		case r.Header.Get("Content-Type") != "application/nostr+json+rpc":
			http.Error(w, "", http.StatusUnsupportedMediaType)
		case !known:
			http.Error(w, "unexpected "+body, http.StatusTeapot)
		case strings.HasPrefix(answer, "/"):
			http.Redirect(w, r, answer, http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, answer) // the client tells what it read
		}
	})
}

func TestAdminSendsParametersAsWhatTheyAreAndPrintsTheResult(t *testing.T) {
	t.Parallel()
	npub, err := nip19.EncodePublicKey(publicHex)
	require.NoError(t, err)
	digits := strings.Repeat("1", 64)
	url := managementServer(t, map[string]string{
		`{"method":"supportedmethods","params":[]}`:                           `{"result":["a","b c"]}`,
		`{"method":"banpubkey","params":["` + publicHex + `","spam, again"]}`: `{"result":true}`,
		`{"method":"banevent","params":["` + digits + `"]}`:                   `{"result":true}`,
		`{"method":"allowkind","params":[1984]}`:                              `{"result":true}`,
		`{"method":"x","params":["7",{"a":[1]},"","[","007"]}`:                `{"result":{"claim":"c d"}}`,
		`{"method":"listbannedpubkeys","params":[]}`:                          `{"result":[{"pubkey":"a", "reason":"<"},{"pubkey":"b"}]}`,
		`{"method":"listallowedkinds","params":[]}`:                           `{"result":[]}`,
		`{"method":"text","params":[]}`:                                       `{"result":"a line"}`,
		`{"method":"listdeadletters","params":[]}`:                            `{"result":[{"position":7}]}`,
		`{"method":"requeuedeadletter","params":[7]}`:                         `{"result":true}`,
	})
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"supportedmethods"}, "a\nb c\n"},
		{[]string{"banpubkey", npub, "spam, again"}, "true\n"},
		{[]string{"banevent", digits}, "true\n"},
		{[]string{"allowkind", "1984"}, "true\n"},
		{[]string{"x", `"7"`, `{"a":[1]}`, "", "[", "007"}, `{"claim":"c d"}` + "\n"},
		{[]string{"listbannedpubkeys"}, `{"pubkey":"a","reason":"<"}` + "\n" + `{"pubkey":"b"}` + "\n"},
		{[]string{"listallowedkinds"}, ""},
		{[]string{"text"}, "a line\n"},
		{[]string{"dead-letters", "list"}, `{"position":7}` + "\n"},
		{[]string{"dead-letters", "requeue", "7"}, "true\n"},
	} {
		for _, address := range []string{url, strings.Replace(url, "http", "ws", 1)} {
			got := main.RunWith(t.Context(), nil, withSecret, append([]string{"admin", address}, row.args...)...)
			require.Zero(t, got.Code, got.Stderr)
			require.Equal(t, row.want, got.Stdout)
		}
	}
}

func TestAdminFailsWithTheErrorOfTheRelay(t *testing.T) {
	t.Parallel()
	url := managementServer(t, map[string]string{
		`{"method":"refused","params":[]}`: `{"error":"invalid: no such key"}`,
		`{"method":"odd","params":[]}`:     `hello`,
		`{"method":"moved","params":[]}`:   `/elsewhere`,
	})
	for _, row := range []struct {
		env  []string
		args []string
		want string
	}{
		{withSecret, []string{url, "refused"}, "refused: invalid: no such key"},
		{withSecret, []string{url, "odd"}, "not that of a relay"},
		{withSecret, []string{url, "dead-letters"}, "followed by list"},
		{withSecret, []string{url, "dead-letters", "requeue"}, "followed by list"},
		{withSecret, []string{url, "moved"}, "307 Temporary Redirect"},
		{withSecret, []string{url, "other"}, "418"},
		{withSecret, []string{strings.Replace(url, "127.0.0.1", "localhost", 1), "refused"}, "401 Unauthorized"},
		{withSecret, []string{"relay.example", "refused"}, "is not a ws://"},
		{withSecret, []string{"ftp://relay.example", "refused"}, "is not a ws://"},
		{nil, []string{url, "refused"}, "a secret key is needed"},
		{[]string{"NOSTR_SECRET_KEY=hunter2"}, []string{url, "refused"}, "neither an nsec"},
		{nil, []string{"--key", "/does/not/exist", url, "refused"}, "/does/not/exist"},
	} {
		got := main.RunWith(t.Context(), nil, row.env, append([]string{"admin"}, row.args...)...)
		require.Equal(t, 1, got.Code, row)
		require.Empty(t, got.Stdout)
		require.Contains(t, got.Stderr, row.want)
		require.NotContains(t, got.Stderr, "hunter2")
	}
}

func TestAKeyThatWasMadeManagesFromItsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "operator.key")
	made := main.Run(t.Context(), nil, "key", "new", file)
	require.Zero(t, made.Code, made.Stderr)
	require.Regexp(t, "^[0-9a-f]{64}\n$", made.Stdout)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	require.Equal(t, made, main.Run(t.Context(), nil, "key", "show", "--key", file))

	again := main.Run(t.Context(), nil, "key", "new", file)
	require.Equal(t, 1, again.Code)
	require.Equal(t, made, main.Run(t.Context(), nil, "key", "show", "--key", file), "the key is still there")

	require.Equal(t, publicHex+"\n", main.RunWith(t.Context(), nil, withSecret, "key", "show").Stdout)
	require.Contains(t, main.Run(t.Context(), nil, "key", "show").Stderr, "a secret key is needed")

	nsec, err := nip19.EncodePrivateKey(secretHex)
	require.NoError(t, err)
	other := filepath.Join(t.TempDir(), "nsec")
	require.NoError(t, os.WriteFile(other, []byte(nsec+"\n"), 0o600))
	url := managementServer(t, map[string]string{`{"method":"x","params":[]}`: `{"result":true}`})
	got := main.RunWith(t.Context(), nil, []string{"NOSTR_SECRET_KEY=" + strings.Repeat("2", 64)}, "admin", "--key", other, url, "x")
	require.Equal(t, "true\n", got.Stdout, "a file wins over the environment: %s", got.Stderr)
}
