package secret

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "sslPassword": true, "pg.password": true, "X-Api-Key": true, "apikey": true, "api_key": true,
		"dynamodb.access-key": true, "Authorization": true, "Proxy-Authorization": true, "X-Auth": true, "X-Auth-Token": true,
		"Cookie": true, "Set-Cookie": true, "X-Session": true, "PHPSESSID": false, "session_id": true, "sid": true,
		"pwd":             true,
		"X-Amz-Signature": true, "sig": true, "jwt": true, "credentials": true, "X-Key": true, "key": true, "accessKey": true,
		"redis.tls_key": false, "etcd.key_file": false, "dynamodb.primarykey": false, "primary_key": false,
		"cassandra.keyspace": false, "key-size": false, "key-space-size": false,
		"keyprefix": false, "valkey": false, "sessions": false, "author": false, "mongodb.authdb": false,
		"Accept":       false,
		"Content-Type": false, "monkey": false, "X-Trace": false, "threadcount": false, "": false, "-": false,
	} {
		if got := Name(name); got != want {
			t.Errorf("Name(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"http://me:s3cret@h:80/x":                    "http://***@h:80/x",
		"influx=http://u:s3cret@h:8086?db=x":         "influx=http://***@h:8086?db=x",
		"http://h:80/users/@me":                      "http://h:80/users/@me",
		"http://h/?token=s3cret&x=1":                 "http://h/?token=***&x=1",
		"http://h/?x=1&api_key=s3cret#a":             "http://h/?x=1&api_key=***#a",
		"http://h/write?u=s3cret&p=s3cret":           "http://h/write?u=***&p=***",
		"http://me:s3/cret@h":                        "http://***@h",
		"influx=http://me:s3'cret@h/x":               "influx=http://***@h/x",
		"url: 'http://h/', me@h":                     "url: 'http://h/', me@h",
		`"http://me:s3/cret@h": port ":s3"`:          `"http://***@h": port ":s3"`,
		`"http://me:s3c#ret@h": bad port ":s3c"`:     `"http://***@h": bad port ":***"`,
		`"http://me:s3#cret@h": invalid port ":s3"`:  `"http://***@h": invalid port ":***"`,
		`\"http://h\": invalid port \":s3\"`:         `\"http://h\": invalid port \":s3\"`,
		"me:s3cret@127.0.0.1:5432":                   "***@127.0.0.1:5432",
		`address "me:s3cret@h" is not`:               `address "***@h" is not`,
		"127.0.0.1:1,me:s3cret@127.0.0.1:2":          "127.0.0.1:1,***@127.0.0.1:2",
		"-addr=me:s3cret@h":                          "-addr=***@h",
		"postgres://me:s3cret@h/db?sslmode=no":       "postgres://***@h/db?sslmode=no",
		"influx=http://me:s%2Fe@cr:et@h:1/x?p=a&q=b": "influx=http://***@h:1/x?p=***&q=b",
		"--export=otlp=https://me@h":                 "--export=otlp=https://***@h",
		"http://127.0.0.1/users/a@b":                 "http://127.0.0.1/users/a@b",
		"12:30 mail a@b.c":                           "12:30 mail a@b.c",
		"pg=host=h password=s3cret dbname=x":         "pg=host=h password=*** dbname=x",
		"pg=host=h password = 's3 \\' cret' user=u":  "pg=host=h password = *** user=u",
		"pg=postgres://me:s3cret@h/x":                "pg=postgres://***@h/x",
		"response.p(99) < 10ms":                      "response.p(99) < 10ms",
		"/path?page=2":                               "/path?page=2",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}

// Whatever a parser makes of an address, no part of its password is shown; what is no password is.
func TestOf(t *testing.T) {
	for text, want := range map[string][]string{
		"postgres://u:T0p#Secr3t@h:1/x":         {"T0p#Secr3t", "Secr3t", "T0p"},
		"u:T0p@Secr3t@tcp(h:1)/x":               {"T0p@Secr3t", "Secr3t", "T0p"},
		"redis://:T0p/Secr3t@h:1/0":             {"T0p/Secr3t", "Secr3t", "T0p"},
		`host=h password=T0p"Secr3t user=u`:     {`T0p"Secr3t`, "Secr3t", "T0p"},
		"http://h:8080/users/me@x":              nil,
		"http://u:T0p?Secr3t@h:1/x":             {"T0p?Secr3t", "Secr3t", "T0p"},
		"127.0.0.1:5432":                        nil,
		"mail@example.org":                      nil,
		"-a=mongodb://u:T0p Secr3t@h:1,h2:2/db": {"T0p Secr3t", "Secr3t", "T0p"},
	} {
		if got := Of(text); !slices.Equal(got, want) {
			t.Errorf("Of(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLog(t *testing.T) {
	for text, want := range map[string]string{
		"token=s3cret password=s3cret\n":               "token=*** password=***\n",
		"level=info DB_PASSWORD=s3cret user=me":        "level=info DB_PASSWORD=*** user=me",
		"API_TOKEN: s3cret, next: x":                   "API_TOKEN: ***, next: x",
		`{"apiKey": "s3 cret", "rows": 5}`:             `{"apiKey": ***, "rows": 5}`,
		"Authorization: Bearer s3cret\nGET / 200":      "Authorization: ***\nGET / 200",
		"Set-Cookie: a=s3cret; Path=/\ndone":           "Set-Cookie: ***\ndone",
		"postgres://me:s3cret@h/db at 12:30: ready":    "postgres://***@h/db at 12:30: ready",
		"password='s3 cret' host=h":                    "password=*** host=h",
		"password:":                                    "password:",
		"listening on 127.0.0.1:8080, primary_key: id": "listening on 127.0.0.1:8080, primary_key: id",
	} {
		t.Run(text, func(t *testing.T) {
			if got := Log(text); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestArgs(t *testing.T) {
	for _, c := range []struct {
		properties bool
		in, want   string
	}{
		{false, "brunt run x -p s3cret", "brunt run x -p ***"},
		{false, "brunt run x --export influxdb=http://u:s3'cret@h/x", "brunt run x --export influxdb=http://***@h/x"},
		{false, "brunt run x --watch profile:http://u:s3'cret@h/x", "brunt run x --watch profile:http://***@h/x"},
		{false, "brunt run x -ps3cret --seed 3", "brunt run x -p*** --seed 3"},
		{false, "brunt run x -p=s3cret", "brunt run x -p=***"},
		{false, "brunt run x --password s3cret --quiet", "brunt run x --password *** --quiet"},
		{false, "brunt run x --password=s3cret", "brunt run x --password=***"},
		{false, "sysbench x --mysql-password=s3cret run", "sysbench x --mysql-password=*** run"},
		{false, "sysbench x --pgsql_password=s3cret run", "sysbench x --pgsql_password=*** run"},
		{false, "brunt run x --ask-password --quiet y", "brunt run x --ask-password --quiet y"},
		{false, "brunt run x --password-file f", "brunt run x --password-file f"},
		{false, "brunt run x -a me:s3cret@h:1", "brunt run x -a ***@h:1"},
		{false, "brunt run x -ame:s3cret@h:1", "brunt run x -a***@h:1"},
		{false, "brunt run x -o token=s3cret -o mode=on", "brunt run x -o token=*** -o mode=on"},
		{false, "brunt run x -otoken=s3cret", "brunt run x -otoken=***"},
		{false, "brunt http -H Authorization:s3cret u", "brunt http -H Authorization: *** u"},
		{false, "brunt http -HX-Auth:s3cret u", "brunt http -HX-Auth: *** u"},
		{false, "brunt http --header=Cookie:s3cret u", "brunt http --header=Cookie: *** u"},
		{false, "brunt http -H Accept:x http://a:s3cret@h", "brunt http -H Accept:x http://***@h"},
		{false, "brunt cook -header X-Token:s3cret u", "brunt cook -header X-Token: *** u"},
		{false, "brunt http --secret-data s3cret u", "brunt http --secret-data *** u"},
		{false, "brunt cook -secret-data=s3cret u", "brunt cook -secret-data=*** u"},
		{false, "brunt k6 run -e TOKEN=s3cret x.js", "brunt k6 run -e TOKEN=*** x.js"},
		{false, "brunt k6 run -eTOKEN=s3cret x.js", "brunt k6 run -eTOKEN=*** x.js"},
		{false, "brunt k6 run -e=TOKEN=s3cret x.js", "brunt k6 run -e=TOKEN=*** x.js"},
		{false, "brunt k6 run --env WHO=s3cret x.js", "brunt k6 run --env WHO=*** x.js"},
		{false, "brunt k6 run --env=PGPASSWORD=s3cret x.js", "brunt k6 run --env=PGPASSWORD=*** x.js"},
		{false, "brunt k6 run -e RATE=100 -e DURATION=1.5s -e FULL=true x.js",
			"brunt k6 run -e RATE=100 -e DURATION=1.5s -e FULL=true x.js"},
		{false, "brunt k6 run -e PIN_TOKEN=1234 x.js", "brunt k6 run -e PIN_TOKEN=*** x.js"},
		{false, "brunt k6 run --secret-source mock=default=s3cret x.js", "brunt k6 run --secret-source mock=*** x.js"},
		{false, "brunt k6 run --secret-source=file=s3cret x.js", "brunt k6 run --secret-source=file=*** x.js"},
		{false, "brunt k6 run --tag token=s3cret --tag a=b x.js", "brunt k6 run --tag token=*** --tag a=b x.js"},
		{false, "brunt jmeter -n -t x.jmx -Jpassword=s3cret -Jhost=h", "brunt jmeter -n -t x.jmx -Jpassword=*** -Jhost=h"},
		{false, "brunt jmeter -t x.jmx -J db.password=s3cret", "brunt jmeter -t x.jmx -J db.password=***"},
		{false, "brunt pgbench -p 5433 -h localhost", "brunt pgbench -p 5433 -h localhost"},
		{false, "pgbench -p5433 postgres://a:s3cret@h/db", "pgbench -p5433 postgres://***@h/db"},
		{false, "brunt hey -a me:s3cret http://h", "brunt hey -a me:*** http://h"},
		{false, "brunt as hey -ame:s3cret http://h", "brunt as hey -ame:*** http://h"},
		{false, "ab -A me:s3cret -P me:s3cret -C a=s3cret h/", "ab -A me:*** -P me:*** -C a=*** h/"},
		{false, "brunt run x -a auth-service:5432", "brunt run x -a auth-service:5432"},
		{false, `ghz -m {"authorization":"s3cret"} --data {"password":"s3cret","x":1}`,
			`ghz -m {"authorization":"***"} --data {"password":"***","x":1}`},
		{false, "brunt jmeter -n -t x.jmx -H proxy -P 3128 -u me -a s3cret:s3cret", "brunt jmeter -n -t x.jmx -H proxy -P 3128 -u me -a ***"},
		{false, "brunt jmeter -n -t x.jmx -as3cret --password s3cret", "brunt jmeter -n -t x.jmx -a*** --password ***"},
		{false, "brunt cassandra-stress write -mode user=u password=s3cret", "brunt cassandra-stress write -mode user=u password=***"},
		{false, "brunt tank -o phantom.headers=[X-Token:s3cret]", "brunt tank -o phantom.headers=[X-Token:***]"},
		{false, "vegeta attack -prometheus-addr h:1 -proxy-header X-Token:s3cret",
			"vegeta attack -prometheus-addr h:1 -proxy-header X-Token: ***"},
		{true, "go-ycsb run pg -p pg.password=s3cret", "go-ycsb run pg -p pg.password=***"},
		{true, "go-ycsb run pg -ppg.password=s3cret", "go-ycsb run pg -ppg.password=***"},
		{true, "go-ycsb run pg --prop=pg.password=s3cret", "go-ycsb run pg --prop=pg.password=***"},
		{true, "go-ycsb run pg -p pg.user=me -p mongodb.url=mongodb://a:s3cret@h/",
			"go-ycsb run pg -p pg.user=me -p mongodb.url=mongodb://***@h/"},
	} {
		tool := Flags{Properties: c.properties}
		for name, letters := range map[string]string{"hey": "a", "ab": "APC"} {
			if slices.Contains(strings.Fields(c.in), name) {
				tool.Credentials = letters
			}
		}
		if slices.Contains(strings.Fields(c.in), "jmeter") {
			tool.Whole = "a"
		}
		if slices.Contains(strings.Fields(c.in), "pgbench") {
			tool.Plain = "p"
		}
		tool.Words = strings.HasPrefix(c.in, "vegeta ")
		got := strings.Join(Args(strings.Fields(c.in), tool), " ")
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// A libpq connection string is one argument, and its password may contain characters that end a value elsewhere.
func TestArgsPairs(t *testing.T) {
	for pairs, want := range map[string]string{
		`host=h password=s3cret,s3cret;s3cret dbname=d`: `host=h password=*** dbname=d`,
		`password='s3cret \' s3cret' host=h`:            `password=*** host=h`,
		`host=h password='s3cret s3cret`:                `host=h password=***`,
		`host=h password = s3c\ ret user=u`:             `host=h password = *** user=u`,
	} {
		for _, flag := range []string{"-a", "--addr"} {
			if got := Args([]string{"brunt", "run", flag, pairs}, Flags{})[3]; got != want {
				t.Errorf("%s %s: %s, want %s", flag, pairs, got, want)
			}
		}
	}
}

func TestBlot(t *testing.T) {
	if got := Redact("no s3cret and ab", []string{"s3cret", "ab", ""}); got != "no *** and ab" {
		t.Errorf("got %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("http://a:b@c/?token=x")
	f.Fuzz(func(t *testing.T, s string) {
		once := Text(s)
		if twice := Text(once); twice != once {
			t.Errorf("%q becomes %q and then %q", s, once, twice)
		}
		Args([]string{"brunt", s, s}, Flags{Properties: len(s)%2 == 0})
	})
}

func TestRedactArgs(t *testing.T) {
	for args, want := range map[string]string{
		"brunt x -z Bearer-abc": "brunt x -z ***", "brunt x a=pw1 pw10 pw1": "brunt x a=*** pw10 ***",
		"pw1 x": "pw1 x",
	} {
		if got := strings.Join(RedactArgs(strings.Fields(args), []string{"Bearer-abc", "pw1", "x"}), " "); got != want {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
	}
}

// A word of a command line is one value, spaces and all.
func TestArgsOfWords(t *testing.T) {
	got := Args([]string{"brunt", "cassandra-stress", "write", "-mode", "user=u", "password=ses ame", "n=1",
		"password=a=b c"}, Flags{})
	if want := "password=" + Hidden; got[5] != want || got[6] != "n=1" || got[7] != want {
		t.Errorf("%q", got)
	}
}
