package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// surveyJPEG follows the segments and counts the scans: a progressive file may go over all pixels
// as often as it likes, at a few bytes each time. ITU-T T.81, annex B.
func surveyJPEG(body []byte, found *shape, limits Limits) error {
	scans := 0
	for i := 2; ; {
		marker, next := nextMarker(body, i)
		if next < 0 || marker == 0xd9 {
			return nil // what is missing the decoder says
		}
		if err := found.part(); err != nil {
			return err
		}
		i = next
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd8 { // these stand alone
			continue
		}
		if i+2 > len(body) {
			return nil
		}
		size := int(binary.BigEndian.Uint16(body[i:]))
		if size < 2 || size > len(body)-i {
			return fmt.Errorf("%w: cut off", ErrBroken)
		}
		data := body[i+2 : i+size]
		switch {
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			// a frame's header
			if len(data) < 6 || found.width != 0 {
				return fmt.Errorf("%w: frame header", ErrBroken)
			}
			if err := found.size(int(binary.BigEndian.Uint16(data[3:])), int(binary.BigEndian.Uint16(data[1:])), limits); err != nil {
				return err
			}
		case marker == 0xda:
			scans++
			if scans > maxScans || scans*found.pixels() > scanShare*limits.Pixels {
				return fmt.Errorf("%w: %d scans of %d pixels", ErrBounds, scans, found.pixels())
			}
		}
		i += size
	}
}

// nextMarker is the first marker from i on that is not part of compressed data, and what follows
// it; -1 when there is none.
func nextMarker(body []byte, i int) (marker byte, next int) {
	for i < len(body) {
		at := bytes.IndexByte(body[i:], 0xff)
		if at < 0 {
			break
		}
		i += at + 1
		for i < len(body) && body[i] == 0xff { // fill bytes
			i++
		}
		if i >= len(body) {
			break
		}
		// a stuffed byte, a restart
		if marker = body[i]; marker != 0 && (marker < 0xd0 || marker > 0xd7) {
			return marker, i + 1
		}
		i++
	}
	return 0, -1
}
