package goycsb_test

import (
	"fmt"
	"strings"
	"testing"
)

// YCSB's own properties lead to the server that they name, and the table's name to its schema.
func TestYCSBReachesTheServerOfItsProperties(t *testing.T) {
	t.Parallel()
	redis, pg, maria, tarantool := servers.Redis(t), servers.Postgres(t), servers.MariaDB(t), tarantool(t)
	for name, given := range map[string][]string{
		"redis": {"redis", "redis.host=" + redis.Host, fmt.Sprint("redis.port=", redis.Port), "redis.timeout=2000",
			"redis.cluster=false"},
		"pg": {"pg", fmt.Sprintf("db.url=jdbc:postgresql://%s/%s", pg.Addr, pg.Database), "db.user=" + pg.User,
			"db.driver=org.postgresql.Driver"},
		"mysql": {"mysql", fmt.Sprintf("db.url=jdbc:mariadb://%s/%s", maria.Addr, maria.Database), "db.user=" + maria.User,
			"db.passwd=" + maria.Password},
		"tarantool": {"tarantool", "tarantool.host=" + tarantool.Host, fmt.Sprint("tarantool.port=", tarantool.Port),
			"tarantool.user=" + tarantool.User, "tarantool.password=" + tarantool.Password},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTool(t)
			args := []string{"load", given[0], "-p", "recordcount=20", "-p", "fieldcount=2", "--table", "app.java"}
			for _, one := range given[1:] {
				args = append(args, "-p", one)
			}
			out := b.ok(args...)
			b.want(out, "INSERT", 20)
			if maria.Password != "" && strings.Contains(out, maria.Password) {
				t.Errorf("the password is printed:\n%s", out)
			}
			if given[0] == "pg" {
				pg.Psql(t, "SELECT field0 FROM app.java LIMIT 1")
			}
			if code, _, err := b.do("", append(args, "-p", given[0]+".hots=x")...); code != 104 ||
				!strings.Contains(err, given[0]+".hots") {
				t.Errorf("a misspelt property: exit %d\n%s", code, err)
			}
		})
	}
}
