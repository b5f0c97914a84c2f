//go:build linux

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// etcdAsk sends a request in JSON to the row's member.
func (sc *scene) etcdAsk(ctx context.Context, path, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+sc.server.Addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %s", path, answer.Status)
	}
	return nil
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// etcdRow is a row of etcd. settings are flags of its server; rows with the same ones share it.
func etcdRow(cause, planted string, want []string, queries string, rate int, settings ...string) row {
	return row{System: "etcd", Cause: cause, Planted: planted, Want: want,
		Server: "etcd" + strings.Join(settings, ""),
		Start: func(st *stage) *testserver.Server {
			return testserver.Etcd(st.tb, testserver.Settings(append([]string{"--metrics=extensive"}, settings...)...))
		},
		Plan: "queries:\n" + queries + openLoad(8, rate),
		Flags: func(sc *scene) []string {
			return []string{"--proto", "etcd", "-a", sc.server.Addr, "--inspect", "auto"}
		}}
}

func etcdRows() []row {
	get := commandsOf("get", `get, "k:$1"`, anyKey, 5)
	put := commandsOf("put", `put, "k:$1", "$1"`, anyKey, 5)
	lease := commandsOf("lease", `lease-grant, "100"`, "", 5)
	large := etcdRow("large-range", "a tenth of the reads lists 200 keys of 1 kB", []string{"large-range"},
		get+commandsOf("list", "get, big, --prefix", "", 1), 40)
	large.Prepare = func(sc *scene) (func(), error) {
		for k := range 200 {
			body := fmt.Sprintf(`{"key":%q,"value":%q}`, base64Of(fmt.Sprint("big", k)), base64Of(strings.Repeat("x", 1000)))
			if err := sc.etcdAsk(context.Background(), "/v3/kv/put", body); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	defrag := etcdRow("defrag", "the member is defragmented during the load", []string{"defrag"}, get+put, 50)
	defrag.During = func(ctx context.Context, sc *scene) {
		if sc.underWay(ctx) {
			protocol.Sleep(ctx, plantAfter)
			_ = sc.etcdAsk(ctx, "/v3/maintenance/defragment", "{}")
		}
	}
	return []row{
		etcdRow("healthy", "short reads and writes", nil, get+put, 50),
		etcdRow("healthy-reads", "short reads", nil, get, 100),
		large, defrag,
		etcdRow("lease-storm", "a lease for each put", []string{"lease-storm"}, put+lease, 60),
		etcdRow("quota", "a quota of 1 MB is used up", []string{"quota", "request-errors"},
			commandsOf("put", `put, "k:$1", "$2"`, anyKey+", {type: String, range: [20000, 20000]}", 1), 50,
			"--quota-backend-bytes=1000000"),
	}
}
