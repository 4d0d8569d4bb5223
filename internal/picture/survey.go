package picture

import (
	"encoding/binary"
	"fmt"
)

// Bounds of what is inside a picture, beside its pixels. Decoders take what a file says at its
// word: a JPEG of 49 KB with 500 scans held one for nine seconds.
const (
	// maxParts of a file: chunks, segments, boxes, extensions. A PNG of 8 MiB as encoders write it
	// has a thousand.
	maxParts = 20_000
	// maxFrames of an animation.
	maxFrames = 4_096
	// animationShare is how many times Limits.Pixels all frames of an animation may have together.
	animationShare = 32
	// maxScans of a JPEG. Encoders write about ten, optimizers up to twenty.
	maxScans = 100
	// scanShare is how many times Limits.Pixels all scans together may go over.
	scanShare = 20
	// maxPackedMetadata is how many bytes of compressed profiles and texts a PNG may carry: each
	// may unfold a thousandfold in its reader.
	maxPackedMetadata = 1 << 20
	// maxItems of an AVIF: the tiles of a grid are items.
	maxItems = 1_024
)

// shape is what the structure of a file promises, read without decoding any of it.
type shape struct {
	width, height int
	frames        int
	framePixels   int64 // of all frames after another
	parts         int
}

func (s *shape) pixels() int { return s.width * s.height }

// part counts one more part of the file.
func (s *shape) part() error {
	if s.parts++; s.parts > maxParts {
		return fmt.Errorf("%w: more than %d parts", ErrBounds, maxParts)
	}
	return nil
}

// size takes a width and a height that something in the file has: each of them is bounded, the
// first is the picture's.
func (s *shape) size(width, height int, limits Limits) error {
	if err := limits.check(width, height); err != nil {
		return err
	}
	if s.width == 0 {
		s.width, s.height = width, height
	}
	return nil
}

// frame takes one more frame of an animation.
func (s *shape) frame(width, height int, limits Limits) error {
	if err := limits.check(width, height); err != nil {
		return err
	}
	s.framePixels += int64(width) * int64(height)
	if s.frames++; s.frames > maxFrames {
		return fmt.Errorf("%w: more than %d frames", ErrBounds, maxFrames)
	}
	if s.framePixels > animationShare*int64(limits.Pixels) {
		return fmt.Errorf("%w: frames of %d pixels together", ErrBounds, s.framePixels)
	}
	return nil
}

// Survey walks over the structure of an image without decoding it. It refuses an image whose
// decoding would cost ours or a browser's too much. It reads each byte once at most, allocates
// next to nothing, and tells how many pixels there are to decode. For a drawing it does nothing:
// those are written anew. Errors wrap ErrNotImage, ErrBroken or ErrBounds.
func Survey(body []byte, limits Limits) (pixels int, err error) {
	kind := Sniff(body)
	switch kind {
	case "":
		return 0, ErrNotImage
	case SVG:
		return 0, nil
	}
	found, err := survey(body, kind, limits.withDefaults())
	return found.pixels(), err
}

func survey(body []byte, kind string, limits Limits) (shape, error) {
	var found shape
	var err error
	switch kind {
	case PNG:
		err = surveyPNG(body, &found, limits)
	case JPEG:
		err = surveyJPEG(body, &found, limits)
	case GIF:
		err = surveyGIF(body, &found, limits)
	case WebP:
		err = surveyWebP(body, &found, limits)
	case AVIF:
		err = surveyAVIF(body, &found, limits)
	}
	if err == nil && found.width == 0 {
		err = fmt.Errorf("%w: no size", ErrBroken)
	}
	return found, err
}

// surveyPNG follows the chunks. https://www.w3.org/TR/png-3/#5Chunk-layout
func surveyPNG(body []byte, found *shape, limits Limits) error {
	packed := 0
	for i := 8; i+12 <= len(body); {
		size, name := uint64(binary.BigEndian.Uint32(body[i:])), string(body[i+4:i+8])
		if size > uint64(len(body)-i-12) {
			return fmt.Errorf("%w: cut off", ErrBroken)
		}
		data := body[i+8 : i+8+int(size)]
		if err := found.part(); err != nil {
			return err
		}
		if found.parts == 1 && name != "IHDR" {
			return fmt.Errorf("%w: no header", ErrBroken)
		}
		var err error
		switch {
		case name == "IHDR" && len(data) == 13:
			err = found.size(sizes32(data), sizes32(data[4:]), limits)
		case name == "fcTL" && len(data) == 26:
			err = found.frame(sizes32(data[4:]), sizes32(data[8:]), limits)
		case name == "iCCP", name == "zTXt", name == "iTXt":
			if packed += len(data); name != "iTXt" && packed > maxPackedMetadata || packed > 4*maxPackedMetadata {
				err = fmt.Errorf("%w: %d bytes of metadata", ErrBounds, packed)
			}
		case name == "IEND":
			return nil
		}
		if err != nil {
			return err
		}
		i += 12 + int(size)
	}
	return nil // the decoder says what is missing
}

// sizes32 is a size of 32 bits, cut to what a product of two can hold.
func sizes32(data []byte) int { return int(min(binary.BigEndian.Uint32(data), 1<<30)) }

// surveyGIF follows the blocks. GIF89a, appendix B.
func surveyGIF(body []byte, found *shape, limits Limits) error {
	if len(body) < 13 {
		return fmt.Errorf("%w: cut off", ErrBroken)
	}
	if err := found.size(int(binary.LittleEndian.Uint16(body[6:])), int(binary.LittleEndian.Uint16(body[8:])), limits); err != nil {
		return err
	}
	i := 13
	if body[10]&0x80 != 0 {
		i += 3 << (body[10]&7 + 1)
	}
	for i < len(body) {
		if err := found.part(); err != nil {
			return err
		}
		switch body[i] {
		case 0x21: // an extension: its label, then blocks
			i = skipBlocks(body, i+2)
		case 0x2c:
			if i+10 > len(body) {
				return nil // the decoder says that it is cut
			}
			if err := found.frame(int(binary.LittleEndian.Uint16(body[i+5:])), int(binary.LittleEndian.Uint16(body[i+7:])), limits); err != nil {
				return err
			}
			table := 0
			if body[i+9]&0x80 != 0 {
				table = 3 << (body[i+9]&7 + 1)
			}
			i = skipBlocks(body, i+10+table+1)
		default:
			return nil
		}
	}
	return nil
}
