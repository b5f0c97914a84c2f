package record

import "io"

// spareFiles are file descriptors that a run keeps open in reserve. They are closed to write run.json, so that this
// succeeds even if the load uses all other descriptors that the process may open.
type spareFiles []io.Closer

// filesToWrite is how many files are open at once while a file is replaced: the new file and its folder.
const filesToWrite = 2

// hold opens the descriptors on the existing file at path. If it can't, it keeps those it has: run.json can be written
// without them as long as other descriptors are free.
func (s *spareFiles) hold(fsys FS, path string) {
	for len(*s) < filesToWrite {
		f, err := fsys.Open(path)
		if err != nil {
			return
		}
		*s = append(*s, f)
	}
}

// release closes the descriptors and reports whether there were any.
func (s *spareFiles) release() bool {
	held := len(*s) > 0
	for _, f := range *s {
		_ = f.Close()
	}
	*s = (*s)[:0]
	return held
}
