package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/test/testserver"
)

// A server whose files have an error never reads its configuration: that is said, and not waited for without end.
func TestConfigurationThatIsNotRead(t *testing.T) {
	testserver.SkipQuick(t)
	p := testserver.Postgres(t)
	opened, err := Settings(t.Context(), fmt.Sprintf("postgres://%s@%s/postgres", p.User, p.Addr))
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*tuner)
	session, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.close()
	// The server's working directory is that of its data.
	if _, err := session.plain(t.Context(), "copy (select 'an error') to program 'cat >> postgresql.conf'"); err != nil {
		t.Fatal(err)
	}
	s.wait = time.Millisecond
	err = s.Set(t.Context(), []inspect.Setting{{Name: "work_mem", Value: "9MB"}})
	if err == nil || !strings.Contains(err.Error(), "pg_file_settings") {
		t.Error(err)
	}
}
