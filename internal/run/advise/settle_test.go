package advise

import (
	"fmt"
	"testing"

	"brunt/internal/inspect"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

// A kill between ALTER SYSTEM and the reload leaves a setting that isn't in force yet; it is to be restored.
func TestSettingsThatAreNotInForceAreRestored(t *testing.T) {
	testserver.SkipQuick(t)
	p := testserver.Postgres(t)
	url := fmt.Sprintf("postgres://%s@%s/postgres", p.User, p.Addr)
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	e := &Experiment{Server: "pg=" + url, Wanted: []inspect.Setting{{Name: "work_mem", Value: "9MB"}}}
	err = settings(t.Context(), e.Server, func(s inspect.Settings) (err error) {
		e.before, err = s.Read(t.Context(), inspect.SettingNames(e.Wanted))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{false, true} {
		if there, err := e.Settle(t.Context(), nil); err != nil || there != want {
			t.Errorf("%v, %v, want %v", there, err, want)
		}
		if _, err := c.Exec(t.Context(), "alter system set work_mem = '9MB'"); err != nil {
			t.Fatal(err)
		}
	}
}
