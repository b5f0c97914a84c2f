package testserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// kubeService holds the fields of a Service that a node uses.
type kubeService struct {
	Metadata kubeMeta `json:"metadata"`
	Spec     struct {
		ClusterIP string            `json:"clusterIP"`
		Selector  map[string]string `json:"selector"`
		Ports     []struct {
			Port   int `json:"port"`
			Target any `json:"targetPort"`
		} `json:"ports"`
	} `json:"spec"`
}

// hosts returns the /etc/hosts of the pods in a namespace, which replaces the cluster's DNS. A service without a
// cluster IP gets this machine's address, because the processes of all pods share its network.
func (k *KubernetesCluster) hosts(namespace string) (string, error) {
	var list struct {
		Items []kubeService `json:"items"`
	}
	if err := k.Get("/api/v1/namespaces/"+namespace+"/services", &list); err != nil {
		return "", err
	}
	hosts := loopback + " localhost\n"
	for _, s := range list.Items {
		ip, name := s.Spec.ClusterIP, s.Metadata.Name
		if ip == "None" {
			ip = loopback
		}
		hosts += fmt.Sprintf("%[1]s %[2]s %[2]s.%[3]s %[2]s.%[3]s.svc %[2]s.%[3]s.svc.cluster.local\n", ip, name, namespace)
	}
	return hosts, nil
}

// serveServices listens on the addresses of the cluster's services, which are loopback addresses of this machine, and
// forwards connections to a pod that the service selects.
func (n *KubernetesNodes) serveServices() {
	listening := map[string]net.Listener{}
	defer func() {
		for _, l := range listening {
			l.Close()
		}
	}()
	for n.ctx.Err() == nil {
		n.watch("/api/v1/services?watch=true", func(kind string, object json.RawMessage) error {
			var s kubeService
			if err := json.Unmarshal(object, &s); err != nil {
				return err
			}
			for _, port := range s.Spec.Ports {
				address := fmt.Sprintf("%s:%d", s.Spec.ClusterIP, port.Port)
				l := listening[address]
				switch {
				case kind == "DELETED" && l != nil:
					l.Close()
					delete(listening, address)
				case kind != "DELETED" && l == nil && len(s.Spec.Selector) > 0 && s.Spec.ClusterIP != "None":
					l, err := net.Listen("tcp", address)
					if err != nil {
						return err
					}
					listening[address] = l
					target := port.Port
					if number, ok := port.Target.(float64); ok {
						target = int(number)
					}
					n.wg.Go(func() { n.pass(l, &s, target) })
				}
			}
			return nil
		})
	}
}

// pass forwards connections to a pod of a service until the listener is closed.
func (n *KubernetesNodes) pass(l net.Listener, s *kubeService, port int) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		n.wg.Go(func() {
			defer client.Close()
			server, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", n.selected(s), port), time.Second)
			if err != nil {
				return
			}
			defer server.Close()
			done := make(chan struct{}, 2)
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1]) // either side may close the connection
					done <- struct{}{}
				}()
			}
			select {
			case <-done:
			case <-n.ctx.Done():
			}
		})
	}
}

// selected returns the IP address of a running pod that a service selects.
func (n *KubernetesNodes) selected(s *kubeService) (ip string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.pods {
		has := !slices.ContainsFunc(labelsOf(s.Spec.Selector), func(label string) bool {
			return !slices.Contains(labelsOf(r.pod.Metadata.Labels), label)
		})
		if has && r.pod.Metadata.Namespace == s.Metadata.Namespace && r.process != nil && !r.process.gone() {
			return r.ip
		}
	}
	return ""
}

func labelsOf(m map[string]string) (all []string) {
	for key, value := range m {
		all = append(all, strings.Join([]string{key, value}, "="))
	}
	return all
}
