package api

import (
	"context"
	_ "embed"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/logos"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/picture"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// unknownSVG is the fallback: the image of a token that has no logo to show.
//
//go:embed unknown.svg
var unknownSVG []byte

// imagePolicy makes an image harmless that is opened as a page: no script runs, and nothing is
// loaded.
const imagePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox"

// imageHeaders are set on every answer. Their names are in canonical form, which saves fasthttp the
// conversion.
var imageHeaders = [...][2][]byte{
	{[]byte(fiber.HeaderContentSecurityPolicy), []byte(imagePolicy)},
	{[]byte("Cross-Origin-Resource-Policy"), []byte("cross-origin")},
	{[]byte(fiber.HeaderAccessControlExposeHeaders), []byte(exposedHeaders + ", " + headerLogoStatus)},
}

// headerLogoStatus is the status of the token's logo, so that a page can see why it gets the
// fallback: ok, unchecked, broken, missing, or unknown for a mint that is not in the registry.
const headerLogoStatus = "X-Logo-Status"

// ageUnknown is how many seconds the fallback may be cached if nothing is known of the logo.
const ageUnknown = 60

// getImage is GET /img/{mint}. It always answers with an image: the logo as it was fetched, a
// variant of it, or the fallback. A mint that is not in the registry is queued for enrichment. So
// is a mint whose metadata document could not be read. An invalid `size` or `format` is ignored,
// because an <img> cannot show an error.
func (s *Server) getImage(c *fiber.Ctx) error {
	header := &c.Response().Header
	for i := range imageHeaders {
		header.SetCanonical(imageHeaders[i][0], imageHeaders[i][1])
	}
	mint, parseErr := pubkey.Parse(pathMint(c))
	if !s.replica.Ready() {
		return sendFallback(c, logos.StatusUnknown, 1)
	}
	if parseErr != nil {
		return sendFallback(c, logos.StatusUnknown, ageUnknown)
	}
	url, status, lacking, known := s.logoOf(mint)
	if !known {
		s.requests.Ask(s.client(c), mint, eventspb.RequestReason_REQUEST_REASON_API_IMAGE)
		return sendFallback(c, logos.StatusUnknown, ageUnknown)
	}
	if lacking {
		s.requests.AskDocument(s.client(c), mint, eventspb.RequestReason_REQUEST_REASON_API_IMAGE)
	}
	if s.logos == nil {
		return sendFallback(c, status, ageUnknown)
	}
	request := logos.Request{Mint: mint, URL: url, Status: status, Variant: variantOf(c)}
	answer := s.logos.Get(c.UserContext(), request)
	seconds := int(answer.MaxAge.Seconds())
	if answer.Blob == nil {
		return sendFallback(c, status, seconds)
	}
	header.SetContentType(answer.Blob.Type)
	header.Set(fiber.HeaderETag, answer.Blob.ETag)
	setImageAge(c, status, seconds)
	c.Response().SetBodyRaw(answer.Blob.Body) // not copied: answers share it, and nobody changes it
	return nil
}

// logoOf returns the URL and the status of a token's logo. lacking is true if the token's metadata
// document could most likely not be read. known is false for a mint that is not in the registry.
// logoOf uses the row cache, because the same images are requested again and again.
func (s *Server) logoOf(mint pubkey.Key) (url, status string, lacking, known bool) {
	id, known := s.replica.ID(mint)
	if !known {
		return "", "", false, false
	}
	return s.rows.logo(id, s.replica.Row)
}

func sendFallback(c *fiber.Ctx, status string, seconds int) error {
	c.Response().Header.Set(fiber.HeaderContentType, picture.SVG)
	setImageAge(c, status, seconds)
	c.Response().SetBodyRaw(unknownSVG)
	return nil
}

func setImageAge(c *fiber.Ctx, status string, seconds int) {
	age := "public, max-age=" + strconv.Itoa(seconds)
	if status == registry.LogoOK {
		age += ", stale-while-revalidate=86400"
	}
	c.Response().Header.Set(fiber.HeaderCacheControl, age)
	c.Response().Header.Set(headerLogoStatus, status)
}

// variantOf reads ?size=, which it rounds up to the next size that variants have (32 to 512), and
// ?format=webp|png.
func variantOf(c *fiber.Ctx) (variant picture.Variant) {
	arguments := c.Context().QueryArgs()
	if size, err := strconv.Atoi(string(arguments.Peek("size"))); err == nil {
		variant.Size = picture.BoxSize(size)
	}
	switch string(arguments.Peek("format")) {
	case "webp":
		variant.Type = picture.WebP
	case "png":
		variant.Type = picture.PNG
	}
	return variant
}

// buildLogos makes the service behind the route, if the node has a loader and a store for images.
func (s *Server) buildLogos() (err error) {
	if s.deps.Images == nil || s.deps.ImageStore == nil {
		return nil
	}
	s.logos, err = logos.New(logos.Config{}, logos.Deps{
		Loader: s.deps.Images, Store: s.deps.ImageStore, Logger: s.deps.Logger, Registerer: s.deps.Registerer, Now: s.deps.Now,
		OpenTail: func() (kafka.TailReader, error) {
			tailer, err := s.deps.OpenTail([]string{schemas.TopicEnrichments}, nil)
			if err != nil {
				return nil, err
			}
			return tailer, nil
		},
	})
	if err == nil {
		s.evidence.CopiedLogo = s.logos.Copied
	}
	return err
}

func (s *Server) runLogos(ctx context.Context) error {
	if s.logos == nil {
		return nil
	}
	return s.logos.Run(ctx) // never fails
}

// SimilarLogos returns how many tokens, the mint's included, show a logo that looks like the
// mint's; 0 if the mint's logo is not known.
func (s *Server) SimilarLogos(mint pubkey.Key) int {
	if s.logos == nil {
		return 0
	}
	return s.logos.Similar(mint)
}

// CopiedLogo returns whether another token showed the mint's logo before the mint did.
func (s *Server) CopiedLogo(mint pubkey.Key) bool { return s.logos != nil && s.logos.Copied(mint) }
