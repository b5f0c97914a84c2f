package main

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody is the user id of brunt in a container.
const nobody = 65532

// writeImage writes a container image for every Linux processor. It contains only the binary and a link to it. The
// archive has the OCI image layout, which podman, skopeo and docker load can read.
func (r *release) writeImage() error {
	platforms := v1.ImageIndex(empty.Index)
	for _, t := range r.targets {
		if t.system != "linux" {
			continue
		}
		image, err := r.image(t)
		if err != nil {
			return err
		}
		platforms = mutate.AppendManifests(platforms, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: t.system, Architecture: t.processor}},
		})
	}
	named := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: platforms, Descriptor: v1.Descriptor{Annotations: r.names()},
	})
	dir, err := os.MkdirTemp("", "brunt-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := layout.Write(dir, named); err != nil {
		return err
	}
	path := filepath.Join(r.out, "brunt-"+r.version+"-oci.tar")
	r.say(path)
	return r.archive(path, dir)
}

// names returns the annotations with the image's name: podman and skopeo use the first one, containerd the other.
func (r *release) names() map[string]string {
	name := "localhost/brunt:" + r.version
	return map[string]string{"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name}
}

func (r *release) image(t target) (v1.Image, error) {
	binary, err := os.ReadFile(r.binary(t))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeReg, Name: "brunt", Mode: 0o755, Size: int64(len(binary))},
		{Typeflag: tar.TypeSymlink, Name: "usr/bin/k6", Linkname: "/brunt", Mode: 0o777}, // k6-operator starts the image's k6
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777},
		{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o755, Uid: nobody, Gid: nobody},
	} {
		h.ModTime = r.made
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			w.Write(binary)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())),
			nil
	},
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base,
		mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.made}, CreatedBy: "brunt's release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.system, t.processor, v1.Time{Time: r.made}
	config.Config = v1.Config{
		Entrypoint: []string{"/brunt"}, User: "65532:65532", WorkingDir: "/data", Env: []string{"HOME=/data"},
		Labels: map[string]string{"org.opencontainers.image.version": r.version,
			"org.opencontainers.image.licenses": "AGPL-3.0-only"},
	}
	return mutate.ConfigFile(image, config)
}

// archive writes a folder's files, sorted by name, without any property of this machine.
func (r *release) archive(path, dir string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(full string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, full)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644,
			Size: int64(len(data)), ModTime: r.made}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
