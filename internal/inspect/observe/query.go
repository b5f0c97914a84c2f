package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// queryKind is the prefix of the names of Prometheus queries.
const queryKind = "query"

// query is the Source of an expression that a Prometheus server, or a server with the same API, evaluates. See
// https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries.
type query struct {
	name   string
	url    string
	client *http.Client
}

// newQuery parses ADDRESS?EXPRESSION. User and password in the address are used for the request but never
// shown.
func newQuery(text string) (*query, error) {
	address, expression, _ := strings.Cut(text, "?")
	if expression = strings.TrimPrefix(expression, "query="); expression == "" {
		return nil, fmt.Errorf("%[1]s: without a query; write for example %[1]s:http://127.0.0.1:9090?sum(rate(x[30s]))",
			queryKind)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%[1]s: give an http or https address, such as %[1]s:http://127.0.0.1:9090?up", queryKind)
	}
	shown := *u
	shown.User = nil
	q := &query{name: queryKind + ":" + shown.String() + "?" + expression, client: &http.Client{Timeout: sampleTimeout}}
	u = u.JoinPath("api/v1/query")
	u.RawQuery = url.Values{"query": {expression}}.Encode()
	q.url = u.String()
	return q, nil
}

// Name implements Source.
func (q *query) Name() string { return q.name }

// Sample implements Source. It fails unless the expression has exactly one value.
func (q *query) Sample(ctx context.Context) (Sample, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url, nil)
	if err != nil {
		return nil, fmt.Errorf("not an address")
	}
	answer, err := q.client.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostMetricsBytes))
	if err != nil {
		return nil, withoutURL(err)
	}
	value, err := parseQuery(body)
	if err != nil {
		return nil, fmt.Errorf("answered %s: %w", answer.Status, err)
	}
	return Sample{{Metric: Metric{Name: "value", Unit: Count}, Value: value}}, nil
}

// parseQuery returns the only value of an answer: a scalar, or a vector of one element.
func parseQuery(body []byte) (float64, error) {
	var answer struct {
		Error string
		Data  struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("it isn't an answer of Prometheus")
	}
	if answer.Error != "" {
		return 0, fmt.Errorf("%s", answer.Error)
	}
	var point [2]any
	if answer.Data.ResultType == "scalar" {
		if err := json.Unmarshal(answer.Data.Result, &point); err != nil {
			return 0, fmt.Errorf("its value can't be read")
		}
	} else {
		var vector []struct{ Value [2]any }
		if err := json.Unmarshal(answer.Data.Result, &vector); err != nil || len(vector) != 1 {
			return 0, fmt.Errorf("the query has %d values; it must have one, as sum(…) has", len(vector))
		}
		point = vector[0].Value
	}
	text, _ := point[1].(string)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("its value can't be read")
	}
	return value, nil
}
