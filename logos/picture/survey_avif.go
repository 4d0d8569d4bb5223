package picture

import (
	"encoding/binary"
	"fmt"
)

// containers are the boxes of an AVIF file that contain other boxes. The value is how many bytes of
// the container come before its first inner box. ISO/IEC 14496-12; ISO/IEC 23008-12.
var containers = map[string]int{
	"meta": 4, "iprp": 0, "ipco": 0, "moov": 0, "trak": 0, "mdia": 0, "minf": 0, "stbl": 0,
}

// surveyAVIF reads the sizes of all items, such as the tiles of a grid, and counts items and
// samples. It does not look into the coded frames: only the budget of package decoder bounds the
// work on these.
func surveyAVIF(body []byte, found *shape, limits Limits) error {
	if err := surveyBoxes(body, found, limits, 0); err != nil {
		return err
	}
	if found.frames > 0 && int64(found.frames)*int64(found.pixels()) > animationShare*int64(limits.Pixels) {
		return fmt.Errorf("%w: %d frames of %d pixels", ErrBounds, found.frames, found.pixels())
	}
	return nil
}

// surveyBoxes reads a sequence of boxes and those inside them. Boxes nested deeper than eight are
// not opened.
func surveyBoxes(data []byte, found *shape, limits Limits, depth int) error {
	for len(data) >= 8 {
		size, head := uint64(binary.BigEndian.Uint32(data)), 8
		name := string(data[4:8])
		switch {
		case size == 1 && len(data) >= 16:
			size, head = binary.BigEndian.Uint64(data[8:]), 16
		case size == 0: // to the end
			size = uint64(len(data))
		}
		if size < uint64(head) || size > uint64(len(data)) {
			return fmt.Errorf("%w: cut off", ErrBroken)
		}
		if err := found.part(); err != nil {
			return err
		}
		inner := data[head:size]
		if skip, ok := containers[name]; ok && depth < 8 && len(inner) >= skip {
			if err := surveyBoxes(inner[skip:], found, limits, depth+1); err != nil {
				return err
			}
		} else if err := surveyBox(name, inner, found, limits); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}

// surveyBox checks a box that contains no other boxes. ispe has an item's size, iinf the number of
// items, stsz that of samples (frames), and tkhd ends with a track's size.
func surveyBox(name string, data []byte, found *shape, limits Limits) error {
	switch {
	case name == "ispe" && len(data) >= 12:
		width, height := size32(data[4:]), size32(data[8:])
		if err := limits.check(width, height); err != nil {
			return err
		}
		// The largest item is the picture: a grid is larger than its tiles, and may come after
		// them.
		if width*height > found.pixels() {
			found.width, found.height = width, height
		}
	case name == "iinf" && len(data) >= 8:
		items := uint32(binary.BigEndian.Uint16(data[4:]))
		if data[0] > 0 {
			items = binary.BigEndian.Uint32(data[4:])
		}
		if items > maxItems {
			return fmt.Errorf("%w: %d items", ErrBounds, items)
		}
	case name == "stsz" && len(data) >= 12:
		samples := binary.BigEndian.Uint32(data[8:])
		if samples > maxFrames {
			return fmt.Errorf("%w: %d frames", ErrBounds, samples)
		}
		found.frames = max(found.frames, int(samples))
	case name == "tkhd" && len(data) >= 84:
		tail := data[len(data)-8:] // width and height, as fixed-point numbers with 16 fraction bits
		width, height := int(binary.BigEndian.Uint16(tail)), int(binary.BigEndian.Uint16(tail[4:]))
		if width > 0 && height > 0 {
			return limits.check(width, height)
		}
	}
	return nil
}
