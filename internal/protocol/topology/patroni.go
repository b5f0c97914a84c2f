package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"brunt/internal/protocol"
)

// patroni is a Source that queries Patroni's REST API (GET /cluster).
type patroni struct {
	from []string // URLs, or host:port
	port string
}

// mostPatroni is the maximum size of an answer of Patroni, in bytes.
const mostPatroni = 1 << 20

func (p patroni) Discover(ctx context.Context) (nodes []protocol.Node, all bool, err error) {
	var failures []error
	for _, from := range p.from {
		if nodes, err = p.ask(ctx, from); err == nil {
			return nodes, true, nil
		}
		failures = append(failures, err)
	}
	return nil, false, errors.Join(failures...)
}

func (p patroni) ask(ctx context.Context, from string) ([]protocol.Node, error) {
	if !strings.Contains(from, "://") {
		from = "http://" + from
	}
	url := strings.TrimSuffix(from, "/") + "/cluster"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask Patroni: %w", err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask Patroni: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask Patroni: %s answers %s", url, answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostPatroni))
	if err != nil {
		return nil, fmt.Errorf("ask Patroni: %w", err)
	}
	nodes, err := parsePatroni(text, p.port)
	if err != nil {
		return nil, fmt.Errorf("ask Patroni: %s: %w", url, err)
	}
	return nodes, nil
}

// parsePatroni parses the answer to GET /cluster and returns the running members. The leader is the primary; the
// leader of a standby cluster is a replica.
func parsePatroni(text []byte, port string) (nodes []protocol.Node, err error) {
	var cluster struct {
		Members []struct {
			Role, State, Host string
			Port              json.Number
		}
	}
	if err := json.Unmarshal(text, &cluster); err != nil {
		return nil, fmt.Errorf("it isn't Patroni's answer: %w", err)
	}
	for _, m := range cluster.Members {
		if m.Host == "" || m.State != "running" && m.State != "streaming" && m.State != "in archive recovery" {
			continue
		}
		at := port
		if n, err := strconv.ParseUint(string(m.Port), 10, 16); err == nil && n > 0 {
			at = strconv.FormatUint(n, 10)
		}
		n := protocol.Node{Address: net.JoinHostPort(m.Host, at), Role: protocol.Replica}
		if m.Role == "leader" || m.Role == "master" || m.Role == "primary" {
			n.Role = protocol.Primary
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}
