package testserver

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// kubePod holds the fields of a pod that a node uses.
type kubePod struct {
	Metadata kubeMeta `json:"metadata"`
	Spec     struct {
		NodeName       string          `json:"nodeName"`
		Hostname       string          `json:"hostname"`
		Grace          int             `json:"terminationGracePeriodSeconds"`
		Security       kubeSecurity    `json:"securityContext"`
		InitContainers []kubeContainer `json:"initContainers"`
		Containers     []kubeContainer `json:"containers"`
		Volumes        []kubeVolume    `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

type kubeMeta struct {
	Name         string            `json:"name"`
	Namespace    string            `json:"namespace"`
	UID          string            `json:"uid"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	Deleted      string            `json:"deletionTimestamp"`
	DeletedGrace *int              `json:"deletionGracePeriodSeconds"`
}

type kubeSecurity struct {
	User     *int  `json:"runAsUser"`
	Group    *int  `json:"fsGroup"`
	NonRoot  *bool `json:"runAsNonRoot"`
	ReadOnly bool  `json:"readOnlyRootFilesystem"`
}

type kubeContainer struct {
	Name       string       `json:"name"`
	Image      string       `json:"image"`
	Command    []string     `json:"command"`
	Args       []string     `json:"args"`
	WorkingDir string       `json:"workingDir"`
	Message    string       `json:"terminationMessagePolicy"`
	Security   kubeSecurity `json:"securityContext"`
	Env        []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
		From  struct {
			Field     *kubeField    `json:"fieldRef"`
			Resource  *kubeResource `json:"resourceFieldRef"`
			Secret    *kubeKey      `json:"secretKeyRef"`
			ConfigMap *kubeKey      `json:"configMapKeyRef"`
		} `json:"valueFrom"`
	} `json:"env"`
	EnvFrom []struct {
		Secret    *kubeKey `json:"secretRef"`
		ConfigMap *kubeKey `json:"configMapRef"`
	} `json:"envFrom"`
	Mounts []struct {
		Name     string `json:"name"`
		Path     string `json:"mountPath"`
		SubPath  string `json:"subPath"`
		ReadOnly bool   `json:"readOnly"`
	} `json:"volumeMounts"`
	Resources struct {
		Limits map[string]string `json:"limits"`
	} `json:"resources"`
}

type kubeField struct {
	Path string `json:"fieldPath"`
}

type kubeResource struct {
	Resource string `json:"resource"`
}

type kubeKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

type kubeVolume struct {
	Name      string      `json:"name"`
	EmptyDir  *struct{}   `json:"emptyDir"`
	Secret    *kubeSource `json:"secret"`
	ConfigMap *kubeSource `json:"configMap"`
}

// kubeSource is a Secret or a ConfigMap as the content of a volume.
type kubeSource struct {
	SecretName string     `json:"secretName"`
	Name       string     `json:"name"` // of a ConfigMap
	Mode       *int       `json:"defaultMode"`
	Items      []kubeItem `json:"items"`
}

type kubeItem struct {
	Key  string `json:"key"`
	Path string `json:"path"`
}

// values returns the data of a Secret or a ConfigMap.
func (k *KubernetesCluster) values(kind, namespace, name string) (map[string]string, error) {
	var object struct {
		Data   map[string]string `json:"data"`
		Binary map[string]string `json:"binaryData"`
	}
	if err := k.Get("/api/v1/namespaces/"+namespace+"/"+kind+"/"+name, &object); err != nil {
		return nil, err
	}
	all, coded := object.Data, object.Binary
	if kind == "secrets" {
		all, coded = map[string]string{}, object.Data
	}
	for key, text := range coded {
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		all[key] = string(plain)
	}
	return all, nil
}

// environment returns the environment variables of a container's process.
func (k *KubernetesCluster) environment(p *kubePod, c *kubeContainer, ip string) (map[string]string, error) {
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	env["HOSTNAME"] = p.hostname()
	read := func(secret, config *kubeKey) (values map[string]string, err error) { // of the one that isn't nil
		if secret != nil {
			return k.values("secrets", p.Metadata.Namespace, secret.Name)
		}
		return k.values("configmaps", p.Metadata.Namespace, config.Name)
	}
	for _, from := range c.EnvFrom {
		values, err := read(from.Secret, from.ConfigMap)
		if err != nil {
			return nil, err
		}
		maps.Copy(env, values)
	}
	for _, e := range c.Env {
		value, from := expand(e.Value, env), e.From
		switch {
		case from.Field != nil:
			value = p.field(from.Field.Path, ip)
		case from.Resource != nil:
			value = c.Resources.Limits[strings.TrimPrefix(from.Resource.Resource, "limits.")]
		case from.Secret != nil, from.ConfigMap != nil:
			values, err := read(from.Secret, from.ConfigMap)
			if err != nil {
				return nil, err
			}
			value = values[cmp.Or(from.Secret, from.ConfigMap).Key]
		}
		env[e.Name] = value
	}
	return env, nil
}

func (p *kubePod) hostname() string { return cmp.Or(p.Spec.Hostname, p.Metadata.Name) }

// field returns the value of a field of the pod, given its path.
func (p *kubePod) field(path, ip string) string {
	name, key, keyed := strings.Cut(path, "['")
	key = strings.TrimSuffix(key, "']")
	switch {
	case keyed && name == "metadata.labels":
		return p.Metadata.Labels[key]
	case keyed && name == "metadata.annotations":
		return p.Metadata.Annotations[key]
	}
	return map[string]string{
		"metadata.name": p.Metadata.Name, "metadata.namespace": p.Metadata.Namespace, "metadata.uid": p.Metadata.UID,
		"spec.nodeName": p.Spec.NodeName, "status.hostIP": loopback, "status.podIP": ip,
	}[path]
}

// expand replaces $(NAME) in an argument or a value by the variable's value in env.
func expand(text string, env map[string]string) string {
	return regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`).ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := env[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// volumes creates the pod's volumes, each as a folder below dir with the volume's name.
func (k *KubernetesCluster) volumes(p *kubePod, dir string) error {
	for _, v := range p.Spec.Volumes {
		kind, from, mode := "secrets", v.Secret, 0o644
		if v.ConfigMap != nil {
			kind, from = "configmaps", v.ConfigMap
		}
		if from == nil && v.EmptyDir == nil {
			return fmt.Errorf("volume %s: a node of the tests has no such volumes", v.Name)
		}
		folder := filepath.Join(dir, v.Name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if from == nil {
			if err := os.Chmod(folder, 0o777); err != nil {
				return err
			}
			continue
		}
		values, err := k.values(kind, p.Metadata.Namespace, cmp.Or(from.SecretName, from.Name))
		if err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q: %w", v.Name, err)
		}
		mode = *cmp.Or(from.Mode, &mode)
		if err := fill(folder, values, from.Items, os.FileMode(mode), p.Spec.Security.Group); err != nil {
			return err
		}
	}
	return nil
}

// fill writes values to files in a folder. If group isn't nil, that group may read them, too.
func fill(folder string, values map[string]string, items []kubeItem, mode os.FileMode, group *int) error {
	if items == nil {
		for key := range values {
			items = append(items, kubeItem{Key: key, Path: key})
		}
	}
	if group != nil {
		mode |= 0o440
	}
	for _, item := range items {
		path := filepath.Join(folder, item.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(values[item.Key]), mode); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		if group != nil {
			if err := os.Chown(path, -1, *group); err != nil {
				return err
			}
		}
	}
	return nil
}

// KubernetesImage is the simulation of a container image.
type KubernetesImage struct {
	Files      map[string]string // files of this machine, by their path in the image
	Host       bool              // also include this machine's programs: /usr, /bin and so on
	Entrypoint []string
	WorkingDir string // "" means the root
	User       int    // user ID of a container, if its pod doesn't set one
}

// script returns a shell script that builds the image's file system and the container's volumes in a mount namespace of
// its own, and then executes the container's process there. The namespace disappears when the process ends. dir holds
// the pod's files.
func script(dir string, image *KubernetesImage, p *kubePod, c *kubeContainer, command []string) string {
	root := filepath.Join(dir, "root")
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	bind := func(from, to string, readOnly bool) {
		from, to = quoted(from), quoted(filepath.Join(root, to))
		line("if [ -d %[1]s ]; then mkdir -p %[2]s; else mkdir -p $(dirname %[2]s); touch %[2]s; fi", from, to)
		line("mount --rbind %s %s", from, to)
		if readOnly {
			line("mount -o remount,ro,bind %s", to)
		}
	}
	line("set -e\nhostname %s\nmount -t tmpfs -o mode=755 pod %s\ncd %[2]s", quoted(p.hostname()), quoted(root))
	line("mkdir -p etc tmp data\nchmod 1777 tmp data\ncp %s /etc/resolv.conf etc/", quoted(filepath.Join(dir, "hosts")))
	for _, system := range []string{"/proc", "/sys", "/dev"} {
		bind(system, system, false)
	}
	if image.Host {
		bind("/usr", "/usr", true)
		line("for link in bin sbin lib lib64; do [ ! -L /$link ] || cp -P /$link .; done")
	}
	for to, from := range image.Files {
		bind(from, to, true)
	}
	for _, m := range c.Mounts {
		bind(filepath.Join(dir, "volumes", m.Name, m.SubPath), m.Path, m.ReadOnly)
	}
	if c.Security.ReadOnly {
		line("mount -o remount,ro .")
	}
	user := p.user(image, c)
	group := *cmp.Or(p.Spec.Security.Group, &user)
	working := cmp.Or(c.WorkingDir, "/"+strings.TrimPrefix(image.WorkingDir, "/"))
	b.WriteString("exec unshare --root=. --wd=" + quoted(working) + " --setgid=" + strconv.Itoa(group) +
		" --setuid=" + strconv.Itoa(user) + " --")
	for _, argument := range command {
		b.WriteString(" " + quoted(argument))
	}
	return b.String() + "\n"
}

// quoted returns text quoted for sh.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// user returns the user ID that a container's process runs as.
func (p *kubePod) user(image *KubernetesImage, c *kubeContainer) int {
	return *cmp.Or(c.Security.User, p.Spec.Security.User, &image.User)
}
