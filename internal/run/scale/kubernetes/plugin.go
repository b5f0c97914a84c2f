package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// plugin is a program that provides credentials (client.authentication.k8s.io/v1 and v1beta1), such as those of EKS,
// GKE and AKS. It must not be interactive.
type plugin struct {
	APIVersion string   `yaml:"apiVersion"`
	Command    string   `yaml:"command"`
	Args       []string `yaml:"args"`
	Hint       string   `yaml:"installHint"`
	Env        []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`

	mu    sync.Mutex
	token string
	until time.Time // when the token expires; zero: never
	asked bool
}

// pluginPatience limits the time of one run of a plugin.
const pluginPatience = 20 * time.Second

// get returns the plugin's token. It runs the plugin if there is no token that is still valid. A client certificate in
// the answer is set in c.
func (p *plugin) get(ctx context.Context, c *config) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked && (p.until.IsZero() || time.Until(p.until) > 0) {
		return p.token, nil
	}
	ctx, cancel := context.WithTimeout(ctx, pluginPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Command, p.Args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), `KUBERNETES_EXEC_INFO={"apiVersion":"`+p.APIVersion+
		`","kind":"ExecCredential","spec":{"interactive":false}}`)
	for _, e := range p.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", fault(codeUnreachable, "%s: the credential plugin %s is not installed; %s", c.from, p.Command,
			strings.TrimSpace(p.Hint+" install it, or use another context"))
	}
	if err != nil {
		said := strings.TrimSpace(errs.String())
		return "", fault(codeUnreachable, "%s: the credential plugin %s failed: %v: %s", c.from, p.Command, err,
			said[strings.LastIndexByte(said, '\n')+1:])
	}
	var answer struct {
		Status struct {
			Token       string    `json:"token"`
			Certificate string    `json:"clientCertificateData"`
			Key         string    `json:"clientKeyData"`
			Expires     time.Time `json:"expirationTimestamp"`
		} `json:"status"`
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return "", fault(codeUnreachable, "%s: the credential plugin %s printed no ExecCredential (JSON)", c.from, p.Command)
	}
	p.token, p.until, p.asked = answer.Status.Token, answer.Status.Expires, true
	if answer.Status.Certificate != "" {
		return p.token, c.present([]byte(answer.Status.Certificate), []byte(answer.Status.Key))
	}
	return p.token, nil
}
