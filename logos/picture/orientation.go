package picture

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation returns the EXIF orientation of a JPEG (EXIF 2.32, 4.6.4), from 1 (upright) to 8; 1
// if the file has none. A variant has no EXIF, so Make turns the pixels instead.
func orientation(body []byte) int {
	for i := 2; i+4 <= len(body) && body[i] == 0xff; {
		marker, size := body[i+1], int(binary.BigEndian.Uint16(body[i+2:]))
		end := i + 2 + size
		if marker == jpegSOS || size < 2 || end > len(body) {
			return 1
		}
		if payload := body[i+4 : end]; marker == jpegAPP1 && bytes.HasPrefix(payload, []byte("Exif\x00\x00")) {
			return tiffOrientation(payload[6:])
		}
		i = end
	}
	return 1
}

// tagOrientation is the number of EXIF's tag Orientation.
const tagOrientation = 0x0112

// tiffOrientation returns the value of the orientation tag in the first directory of EXIF data; 1
// if there is no valid one.
func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := uint64(order.Uint16(tiff[at:]))
	for i := range entries {
		entry := at + 2 + 12*i
		if entry+12 > uint64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[entry:]) != tagOrientation {
			continue
		}
		if value := int(order.Uint16(tiff[entry+8:])); value >= 1 && value <= 8 {
			return value
		}
		return 1
	}
	return 1
}

// upright rotates and mirrors a picture as its EXIF orientation asks, so that it is upright without
// EXIF.
func upright(picture image.Image, orientation int) image.Image {
	if orientation <= 1 || orientation > 8 {
		return picture
	}
	bounds := picture.Bounds()
	width, height := bounds.Dx(), bounds.Dy()
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if orientation >= 5 {
		out = image.NewRGBA(image.Rect(0, 0, height, width))
	}
	source := scalable(picture)
	for y := range height {
		for x := range width {
			tx, ty := x, y
			switch orientation {
			case 2:
				tx = width - 1 - x
			case 3:
				tx, ty = width-1-x, height-1-y
			case 4:
				ty = height - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = height-1-y, x
			case 7:
				tx, ty = height-1-y, width-1-x
			case 8:
				tx, ty = y, width-1-x
			}
			out.Set(tx, ty, source.At(bounds.Min.X+x, bounds.Min.Y+y))
		}
	}
	return out
}
