package main_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
	"fencepost/regress/postgres"
)

func TestMigrateNeedsADatabase(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"status", "up"} {
		r := main.Run(t.Context(), nil, "migrate", command)
		require.Equal(t, 1, r.Code)
		require.Contains(t, r.Stderr, "store.postgres.url is not set")
	}
}

func TestADatabaseThatIsNotThereIsNamedInOneLine(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(postgres.Start(t).Database(t))
	require.NoError(t, err)
	u.Path = "/nowhere"
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate", "status"}, {"migrate", "up"}, {"export"}} {
		r := main.RunWith(t.Context(), nil, []string{"FENCEPOST_STORE_POSTGRES_URL=" + u.String()}, args...)
		require.Equal(t, 1, r.Code, args)
		require.Regexp(t, `^fencepost: [a-z ]+: PostgreSQL at `+u.Host+`: there is no database "nowhere"; create it \(createdb nowhere\)\n$`, r.Stderr)
	}
}

func TestMigrateShowsAndAppliesTheSteps(t *testing.T) {
	t.Parallel()
	url := postgres.Start(t).Database(t)
	env := []string{"FENCEPOST_STORE_POSTGRES_URL=" + url}
	migrate := func(command string) main.Result { return main.RunWith(t.Context(), nil, env, "migrate", command) }
	before := migrate("status")
	require.Zero(t, before.Code, before.Stderr)
	require.True(t, strings.HasPrefix(before.Stdout, "0001 missing store\n"), before.Stdout)
	require.NotContains(t, before.Stdout, "applied")

	up := migrate("up")
	require.Zero(t, up.Code, up.Stderr)
	require.Equal(t, strings.ReplaceAll(before.Stdout, "missing", "applied"), up.Stdout)
	require.Equal(t, up.Stdout, migrate("status").Stdout)
	require.Equal(t, "the schema is up to date\n", migrate("up").Stdout)

	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	version := func(sql string) {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	version("DELETE FROM schema_version WHERE version > 1")
	old := migrate("status").Stdout
	require.Contains(t, old, "0002 missing relay_key\n0003 missing search_retention (stops replicas of an older version)\n")
	version("INSERT INTO schema_version (version) VALUES (999)")
	require.NoError(t, conn.Close(t.Context()))
	for _, command := range []string{"status", "up"} {
		newer := migrate(command)
		require.Equal(t, 1, newer.Code)
		require.Contains(t, newer.Stderr, "run a newer one")
	}
}

func TestImportAndExportOverADatabase(t *testing.T) {
	t.Parallel()
	env := []string{"FENCEPOST_STORE_POSTGRES_URL=" + postgres.Start(t).Database(t)}
	nothing := main.RunWith(t.Context(), nil, env, "export")
	require.Equal(t, 1, nothing.Code)
	require.Contains(t, nothing.Stderr, "no store in the database")
	r := main.RunWith(t.Context(), nil, env, "import", testdata)
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, imported, r.Stdout)
	exported := main.RunWith(t.Context(), nil, env, "export")
	require.Zero(t, exported.Code, exported.Stderr)
	require.True(t, slowImport(t, 0) == exported.Stdout, "the same set as by the slow and obvious store")
}
