package postgres_test

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store/postgres"
)

func TestWhyThereIsNoConnectionIsOneLine(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	nobody := free.Addr().String()
	u, err := url.Parse(server.Start(t).Database(t))
	require.NoError(t, err)
	for name, row := range map[string]struct {
		edit func(u *url.URL)
		says string
	}{
		"no database": {
			func(u *url.URL) { u.Path = "/nowhere" },
			"PostgreSQL at " + u.Host + `: there is no database "nowhere"; create it (createdb nowhere)`,
		},
		"no role": {func(u *url.URL) { u.User = url.UserPassword("stranger", "geheim") }, "PostgreSQL at " + u.Host + ": "},
		"nobody":  {func(u *url.URL) { u.Host = nobody }, "PostgreSQL at " + nobody + ": connection refused"},
		"no socket": {
			func(u *url.URL) { u.Host, u.RawQuery = "", "host=/nowhere" },
			"PostgreSQL at /nowhere: no such file or directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := *u
			row.edit(&changed)
			_, _, status := postgres.Status(t.Context(), changed.String())
			_, open := postgres.Open(t.Context(), changed.String(), postgres.Options{Migrate: true})
			require.EqualError(t, open, status.Error())
			require.True(t, strings.HasPrefix(open.Error(), row.says), open)
			require.NotRegexp(t, "\n|SQLSTATE|geheim|failed to", open.Error())
		})
	}
}
