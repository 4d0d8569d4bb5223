package chhttp

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// spool writes the data of an INSERT, prefix and then rest, into anonymous memory (memfd) that the
// engine can open as a file. The caller closes fd. If the data is longer than limit bytes, it
// returns errTooLarge.
func spool(prefix []byte, rest io.Reader, limit int64) (fd int, size int64, err error) {
	fd, err = unix.MemfdCreate("mintlake-insert", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, 0, fmt.Errorf("create memory file for insert: %w", err)
	}
	w := fdWriter(fd)
	size = int64(len(prefix))
	if _, err = w.Write(prefix); err == nil && rest != nil {
		var n int64
		n, err = io.Copy(w, io.LimitReader(rest, limit-size+1))
		size += n
	}
	if err == nil && size > limit {
		err = errTooLarge
	}
	if err != nil {
		_ = unix.Close(fd) // the first error matters
		return -1, 0, err
	}
	return fd, size, nil
}

var errTooLarge = errors.New("body too large")

// fdWriter writes to a file descriptor directly. An os.File would own the descriptor and close it.
type fdWriter int

func (w fdWriter) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := unix.Write(int(w), p[done:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}
