package picture

import (
	"encoding/binary"
	"fmt"
)

// Limits of what a file contains besides its pixels. Decoders believe what a file says: a JPEG of
// 49 KB with 500 scans kept a decoder busy for nine seconds.
const (
	// maxParts bounds the parts of a file: chunks, segments, boxes, extensions. A usual PNG of 8
	// MiB has a thousand.
	maxParts = 20_000
	// maxFrames bounds the frames of an animation.
	maxFrames = 4_096
	// animationShare times Limits.Pixels is how many pixels all frames of an animation may have
	// together.
	animationShare = 32
	// maxScans bounds the scans of a JPEG. Encoders write about ten, optimizers up to twenty.
	maxScans = 100
	// scanShare times Limits.Pixels is how many pixels all scans of a JPEG may cover together.
	scanShare = 20
	// maxPackedMetadata is how many bytes of compressed color profiles and texts a PNG may have.
	// They may expand a thousandfold when they are read.
	maxPackedMetadata = 1 << 20
	// maxItems bounds the items of an AVIF. The tiles of a grid are items.
	maxItems = 1_024
)

// shape is what the structure of a file states, read without decoding pixels.
type shape struct {
	width, height int
	frames        int
	framePixels   int64 // of all frames together
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

// size checks a width and a height that the file states. The first ones that it is called with
// become the size of the picture.
func (s *shape) size(width, height int, limits Limits) error {
	if err := limits.check(width, height); err != nil {
		return err
	}
	if s.width == 0 {
		s.width, s.height = width, height
	}
	return nil
}

// frame counts one more frame of an animation.
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

// Survey checks the structure of an image without decoding pixels, and returns how many pixels
// there are to decode. It refuses an image whose decoding would cost our decoder or a browser too
// much. It reads each byte at most once and allocates almost nothing. For an SVG it does nothing:
// package svg sanitizes and bounds those. Errors wrap ErrNotImage, ErrBroken or ErrBounds.
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
	case BMP:
		err = surveyBMP(body, &found, limits)
	case ICO:
		_, err = surveyICO(body, &found, limits)
	}
	if err == nil && found.width == 0 {
		err = fmt.Errorf("%w: no size", ErrBroken)
	}
	return found, err
}

// surveyPNG reads the chunks. https://www.w3.org/TR/png-3/#5Chunk-layout
func surveyPNG(body []byte, found *shape, limits Limits) error {
	packed := 0 // bytes of metadata, most of it compressed
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
			err = found.size(size32(data), size32(data[4:]), limits)
		case name == "fcTL" && len(data) == 26:
			err = found.frame(size32(data[4:]), size32(data[8:]), limits)
		case name == "iCCP", name == "zTXt", name == "iTXt":
			// An iTXt may be plain text, such as XMP. So if it is the chunk that reaches the limit,
			// the limit is four times as high.
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
	return nil // if something is missing, the decoder finds it
}

// size32 reads a size of 32 bits. It is at most 1<<30, so that the product of two sizes fits an
// int.
func size32(data []byte) int { return int(min(binary.BigEndian.Uint32(data), 1<<30)) }

// surveyGIF reads the blocks. GIF89a, appendix B.
func surveyGIF(body []byte, found *shape, limits Limits) error {
	if len(body) < gifHeader {
		return fmt.Errorf("%w: cut off", ErrBroken)
	}
	if err := found.size(int(binary.LittleEndian.Uint16(body[6:])), int(binary.LittleEndian.Uint16(body[8:])), limits); err != nil {
		return err
	}
	i := gifHeader + colorTable(body[10])
	for i < len(body) {
		if err := found.part(); err != nil {
			return err
		}
		switch body[i] {
		case gifExtension: // its label, then blocks
			i = skipBlocks(body, i+2)
		case gifImage:
			if i+10 > len(body) {
				return nil // the decoder finds that the file is cut off
			}
			if err := found.frame(int(binary.LittleEndian.Uint16(body[i+5:])), int(binary.LittleEndian.Uint16(body[i+7:])), limits); err != nil {
				return err
			}
			i = skipBlocks(body, i+10+colorTable(body[i+9])+1)
		default:
			return nil
		}
	}
	return nil
}
