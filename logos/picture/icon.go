package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"

	"golang.org/x/image/bmp"
)

// Bitmaps of Windows: BMP files, and the DIBs in ICO files, which lack the file header.
// https://learn.microsoft.com/windows/win32/gdi/bitmap-storage
const (
	fileHeader = 14
	infoHeader = 40
	// alphaHeader is the length of BITMAPV4HEADER, of which package bmp uses the alpha channel.
	alphaHeader = 108
	iconEntry   = 16 // bytes of a directory entry, after 6 bytes of header
	// maxIcons of an ICO. Usual ones have up to a dozen.
	maxIcons = 64
)

// bitmap is what the header of a DIB states.
type bitmap struct {
	info          []byte // header
	palette       []byte
	width, height int
	depth         int // bits per pixel
	rowBytes      int // 0 if width is out of bounds
}

// readBitmap reads the header that data begins with.
func readBitmap(data []byte) (b bitmap, err error) {
	if len(data) < infoHeader {
		return b, fmt.Errorf("%w: cut off", ErrBroken)
	}
	size := uint64(binary.LittleEndian.Uint32(data))
	b.width, b.height = int(int32(binary.LittleEndian.Uint32(data[4:]))), int(int32(binary.LittleEndian.Uint32(data[8:])))
	b.depth = int(binary.LittleEndian.Uint16(data[14:]))
	colors := uint64(binary.LittleEndian.Uint32(data[32:]))
	if b.depth > 8 {
		colors = 0
	} else if colors == 0 {
		colors = 1 << b.depth
	}
	const longestHeader = 124 // BITMAPV5HEADER
	if size < infoHeader || size > longestHeader || colors > 256 || size+4*colors > uint64(len(data)) || b.depth > 32 {
		return b, fmt.Errorf("%w: bitmap header", ErrBroken)
	}
	b.info, b.palette = data[:size], data[size:size+4*colors]
	if b.width > 0 && b.width <= maxSide {
		b.rowBytes = (b.width*b.depth + 31) / 32 * 4
	}
	return b, nil
}

// file returns a BMP file of the bitmap's header and palette and of pixels.
func (b *bitmap) file(pixels []byte) []byte {
	offset := fileHeader + len(b.info) + len(b.palette)
	file := make([]byte, fileHeader, offset+len(pixels))
	copy(file, "BM")
	binary.LittleEndian.PutUint32(file[10:], uint32(offset))
	return append(append(append(file, b.info...), b.palette...), pixels...)
}

// bitmapOfBMP returns a BMP's bitmap and its pixels. It returns an error if pixels are missing.
func bitmapOfBMP(body []byte, limits Limits) (b bitmap, pixels []byte, err error) {
	if len(body) < fileHeader {
		return b, nil, fmt.Errorf("%w: cut off", ErrBroken)
	}
	if b, err = readBitmap(body[fileHeader:]); err != nil {
		return b, nil, err
	}
	height := max(b.height, -b.height) // negative if the rows come from the top
	if err := limits.check(b.width, height); err != nil {
		return b, nil, err
	}
	offset := uint64(binary.LittleEndian.Uint32(body[10:]))
	if offset > uint64(len(body)) || b.rowBytes*height > len(body)-int(offset) {
		return b, nil, fmt.Errorf("%w: cut off", ErrBroken)
	}
	return b, body[offset:], nil
}

func surveyBMP(body []byte, found *shape, limits Limits) error {
	b, _, err := bitmapOfBMP(body, limits)
	if err != nil {
		return err
	}
	return found.size(b.width, max(b.height, -b.height), limits)
}

func decodeBMP(body []byte, limits Limits) (image.Image, error) {
	b, pixels, err := bitmapOfBMP(body, limits)
	if err != nil {
		return nil, err
	}
	return bmp.Decode(bytes.NewReader(b.file(pixels)))
}

// isICO reports whether body begins like an ICO: with its header, and a directory entry that is
// possible. Byte 9 is reserved and must be 0.
func isICO(body []byte) bool {
	if len(body) < 6+iconEntry || !bytes.HasPrefix(body, []byte{0, 0, 1, 0}) || body[9] != 0 {
		return false
	}
	count := int(binary.LittleEndian.Uint16(body[4:]))
	first := uint64(binary.LittleEndian.Uint32(body[18:]))
	return count > 0 && first >= uint64(6+count*iconEntry) && first < uint64(len(body))
}

// icons returns the pictures of an ICO: PNG files, or DIBs.
func icons(body []byte) ([][]byte, error) {
	if !isICO(body) {
		return nil, fmt.Errorf("%w: icon header", ErrBroken)
	}
	count := int(binary.LittleEndian.Uint16(body[4:]))
	if count > maxIcons {
		return nil, fmt.Errorf("%w: %d icons", ErrBounds, count)
	}
	list := make([][]byte, count)
	for i := range list {
		entry := body[6+i*iconEntry:]
		size, offset := uint64(binary.LittleEndian.Uint32(entry[8:])), uint64(binary.LittleEndian.Uint32(entry[12:]))
		if offset+size > uint64(len(body)) {
			return nil, fmt.Errorf("%w: cut off", ErrBroken)
		}
		list[i] = body[offset : offset+size]
	}
	return list, nil
}

// surveyICO surveys all pictures of an ICO. It returns the largest one, whose size becomes that of
// the icon.
func surveyICO(body []byte, found *shape, limits Limits) (largest []byte, err error) {
	list, err := icons(body)
	if err != nil {
		return nil, err
	}
	for _, icon := range list {
		var one shape
		if Sniff(icon) == PNG {
			err = surveyPNG(icon, &one, limits)
		} else {
			err = surveyDIB(icon, &one, limits)
		}
		if err != nil {
			return nil, err
		}
		if one.pixels() > found.pixels() {
			found.width, found.height, largest = one.width, one.height, icon
		}
	}
	return largest, nil
}

// surveyDIB reads the bitmap of an icon. The height in the header counts the mask too, so it is
// twice the picture's.
func surveyDIB(icon []byte, found *shape, limits Limits) error {
	b, err := readBitmap(icon)
	if err != nil {
		return err
	}
	if err := found.size(b.width, b.height/2, limits); err != nil {
		return err
	}
	if b.rowBytes*(b.height/2) > len(icon)-len(b.info)-len(b.palette) {
		return fmt.Errorf("%w: cut off", ErrBroken)
	}
	return nil
}

// decodeICO decodes the largest picture. For a DIB it makes a BMP file with the height of the
// picture alone, and with a header of version 4, which makes package bmp read the alpha channel.
func decodeICO(body []byte, limits Limits) (image.Image, error) {
	icon, err := surveyICO(body, &shape{}, limits)
	if err != nil {
		return nil, err
	}
	if Sniff(icon) == PNG {
		return png.Decode(bytes.NewReader(icon))
	}
	b, err := readBitmap(icon)
	if err != nil {
		return nil, err
	}
	pixels := icon[len(b.info)+len(b.palette):]
	height := b.height / 2
	info := make([]byte, alphaHeader)
	copy(info, b.info[:infoHeader])
	binary.LittleEndian.PutUint32(info, alphaHeader)
	binary.LittleEndian.PutUint32(info[8:], uint32(height))
	b.info = info
	decoded, err := bmp.Decode(bytes.NewReader(b.file(pixels[:b.rowBytes*height])))
	if err != nil {
		return nil, err
	}
	if decoded.Bounds().Empty() {
		return nil, fmt.Errorf("%w: no pixels", ErrBroken)
	}
	return masked(decoded, pixels[b.rowBytes*height:]), nil
}

// masked makes those pixels transparent whose bit in the mask is 1. A picture that has an alpha
// channel of its own stays as it is. A channel of zeros counts as none. The mask has the bottom row
// first, one bit a pixel, and each row is padded to 4 bytes.
func masked(picture image.Image, mask []byte) image.Image {
	bounds := picture.Bounds()
	out, own := picture.(*image.NRGBA)
	if own {
		for i := 3; i < len(out.Pix); i += 4 {
			if out.Pix[i] != 0 {
				return out
			}
		}
	} else {
		out = image.NewNRGBA(bounds)
	}
	rowBytes := (bounds.Dx() + 31) / 32 * 4
	for y := range bounds.Dy() {
		row := (bounds.Dy() - 1 - y) * rowBytes
		for x := range bounds.Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			at := out.PixOffset(x, y)
			if !own {
				out.Pix[at], out.Pix[at+1], out.Pix[at+2] = byte(r>>8), byte(g>>8), byte(b>>8)
			}
			out.Pix[at+3] = 0xff
			if row+x/8 < len(mask) && mask[row+x/8]&(0x80>>(x%8)) != 0 {
				out.Pix[at+3] = 0
			}
		}
	}
	return out
}
