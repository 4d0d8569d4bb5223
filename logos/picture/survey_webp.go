package picture

import (
	"encoding/binary"
	"fmt"
)

// surveyWebP reads the chunks of a file, and those in the frames of an animation. The canvas and
// each coded picture have sizes of their own. surveyWebP checks all sizes, because a decoder
// believes each of them. https://developers.google.com/speed/webp/docs/riff_container
func surveyWebP(body []byte, found *shape, limits Limits) error {
	return surveyChunks(body[12:], found, limits, 0)
}

// surveyChunks reads a sequence of chunks. depth is 1 inside a frame, which must not contain
// frames.
func surveyChunks(data []byte, found *shape, limits Limits, depth int) error {
	for len(data) >= 8 {
		size := uint64(binary.LittleEndian.Uint32(data[4:]))
		if size > uint64(len(data)-8) {
			return fmt.Errorf("%w: cut off", ErrBroken)
		}
		if err := found.part(); err != nil {
			return err
		}
		if err := surveyChunk(string(data[:4]), data[8:8+size], found, limits, depth); err != nil {
			return err
		}
		data = data[min(8+size+size&1, uint64(len(data))):]
	}
	return nil
}

func surveyChunk(name string, data []byte, found *shape, limits Limits, depth int) error {
	switch {
	case name == "VP8X" && len(data) >= 10:
		return found.size(int(uint24(data[4:]))+1, int(uint24(data[7:]))+1, limits)
	case name == "VP8 " && len(data) >= 10: // RFC 6386, section 9.1
		return found.size(int(binary.LittleEndian.Uint16(data[6:])&0x3fff), int(binary.LittleEndian.Uint16(data[8:])&0x3fff), limits)
	case name == "VP8L" && len(data) >= 5: // RFC 9649, section 3.4
		bits := binary.LittleEndian.Uint32(data[1:])
		return found.size(int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1, limits)
	case name == "ANMF" && len(data) >= 16 && depth == 0:
		if err := found.frame(int(uint24(data[6:]))+1, int(uint24(data[9:]))+1, limits); err != nil {
			return err
		}
		return surveyChunks(data[16:], found, limits, depth+1)
	}
	return nil
}
