package archive

import "io"

// OpenTar is Open for an archive that is not compressed.
func OpenTar(stream io.Reader) (*Reader, error) { return openTar(stream, func() {}) }
