package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Markers of JPEG segments: ITU-T T.81, table B.1.
const (
	jpegTEM  = 0x01
	jpegSOF0 = 0xc0 // the first of the frame headers
	jpegSOF  = 0xcf // the last of them
	jpegDHT  = 0xc4 // between the two, but no frame header
	jpegJPG  = 0xc8 // as jpegDHT
	jpegDAC  = 0xcc // as jpegDHT
	jpegRST0 = 0xd0
	jpegRST7 = 0xd7
	jpegSOI  = 0xd8
	jpegEOI  = 0xd9 // end of the image
	jpegSOS  = 0xda // start of a scan
	jpegAPP1 = 0xe1 // EXIF, among others
)

// surveyJPEG reads the segments and counts the scans. A progressive file may decode all pixels
// again with each scan, and a scan takes only a few bytes. ITU-T T.81, annex B.
func surveyJPEG(body []byte, found *shape, limits Limits) error {
	scans := 0
	for i := 2; ; {
		marker, next := nextMarker(body, i)
		if next < 0 || marker == jpegEOI {
			return nil // if something is missing, the decoder finds it
		}
		if err := found.part(); err != nil {
			return err
		}
		i = next
		if marker == jpegTEM || marker >= jpegRST0 && marker <= jpegSOI { // these have no data
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
		case marker >= jpegSOF0 && marker <= jpegSOF && marker != jpegDHT && marker != jpegJPG && marker != jpegDAC:
			// This is a frame header, which has the picture's size. A file must have only one.
			if len(data) < 6 || found.width != 0 {
				return fmt.Errorf("%w: frame header", ErrBroken)
			}
			if err := found.size(int(binary.BigEndian.Uint16(data[3:])), int(binary.BigEndian.Uint16(data[1:])), limits); err != nil {
				return err
			}
		case marker == jpegSOS:
			scans++
			if scans > maxScans || scans*found.pixels() > scanShare*limits.Pixels {
				return fmt.Errorf("%w: %d scans of %d pixels", ErrBounds, scans, found.pixels())
			}
		}
		i += size
	}
}

// nextMarker returns the first marker from i on that is not part of compressed data, and the index
// after it. The index is -1 if there is none.
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
		// In compressed data, 0xff is followed by 0 (a stuffed byte) or by a restart marker.
		if marker = body[i]; marker != 0 && (marker < jpegRST0 || marker > jpegRST7) {
			return marker, i + 1
		}
		i++
	}
	return 0, -1
}
