package record

import "io"

// spareFiles are file descriptors that are held while a run goes on, so that its run.json can be written although
// the load has used up all that the process may open.
type spareFiles []io.Closer

// filesToWrite is how many are open at a time while a file is replaced: the new one, and its folder.
const filesToWrite = 2

// hold opens them on a file that exists. It takes what it gets: without them the record is written as long as
// there are others.
func (s *spareFiles) hold(fsys FS, path string) {
	for len(*s) < filesToWrite {
		f, err := fsys.Open(path)
		if err != nil {
			return
		}
		*s = append(*s, f)
	}
}

// release closes them and reports whether there were any.
func (s *spareFiles) release() bool {
	held := len(*s) > 0
	for _, f := range *s {
		_ = f.Close()
	}
	*s = (*s)[:0]
	return held
}
