package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"
)

// input is what an SBOM is made of.
type input struct {
	name, version string
	// binary is the CycloneDX SBOM of the binary.
	binary []byte
	// status is dpkg's list of what is installed.
	status []byte
	// libchdb is the pin of the engine's library. Empty: the image does not hold it.
	libchdb []byte
}

func (in input) bom() (*cdx.BOM, error) {
	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(bytes.NewReader(in.binary), cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		return nil, fmt.Errorf("read the binary's SBOM: %w", err)
	}
	if bom.Components == nil || bom.Metadata == nil || bom.Metadata.Component == nil {
		return nil, errors.New("the binary's SBOM names no components")
	}
	packages, err := debianPackages(in.status)
	if err != nil {
		return nil, fmt.Errorf("read dpkg's status: %w", err)
	}
	// The SBOM was that of the binary. Now it is that of the image, and the binary is one of the
	// parts.
	components := append([]cdx.Component{*bom.Metadata.Component}, *bom.Components...)
	components = append(components, packages...)
	if len(in.libchdb) > 0 {
		library, err := libraryOf(in.libchdb)
		if err != nil {
			return nil, fmt.Errorf("read the pin of libchdb: %w", err)
		}
		components = append(components, library)
	}
	bom.Components = &components
	bom.Metadata.Component = &cdx.Component{BOMRef: "image", Type: cdx.ComponentTypeContainer, Name: in.name, Version: in.version}
	bom.SerialNumber = ""
	return bom, nil
}

// debianPackages reads dpkg's paragraphs, which have the form of mail headers.
func debianPackages(status []byte) ([]cdx.Component, error) {
	var packages []cdx.Component
	reader := textproto.NewReader(bufio.NewReader(bytes.NewReader(status)))
	for {
		paragraph, err := reader.ReadMIMEHeader()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if strings.HasSuffix(paragraph.Get("Status"), " installed") {
			packages = append(packages, debianPackage(paragraph))
		}
		if err != nil {
			break
		}
	}
	if len(packages) == 0 {
		return nil, errors.New("no package is installed")
	}
	slices.SortFunc(packages, func(a, b cdx.Component) int { return cmp.Compare(a.PackageURL, b.PackageURL) })
	return packages, nil
}

func debianPackage(paragraph textproto.MIMEHeader) cdx.Component {
	name, version := paragraph.Get("Package"), paragraph.Get("Version")
	qualifiers := packageurl.QualifiersFromMap(map[string]string{"arch": paragraph.Get("Architecture")})
	purl := packageurl.NewPackageURL(packageurl.TypeDebian, "debian", name, version, qualifiers, "").ToString()
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
}

// libraryOf reads the lines KEY=VALUE that tools/deps/libchdb.sh --pin prints.
func libraryOf(pin []byte) (cdx.Component, error) {
	values := map[string]string{}
	for line := range strings.Lines(string(pin)) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			values[key] = value
		}
	}
	scope, name, scoped := strings.Cut(values["package"], "/")
	if !scoped || values["version"] == "" || values["library_sha256"] == "" {
		return cdx.Component{}, errors.New("it lacks package, version or library_sha256")
	}
	purl := packageurl.NewPackageURL(packageurl.TypeNPM, scope, name, values["version"], nil, "").ToString()
	return cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeLibrary, Group: scope, Name: name, Version: values["version"], PackageURL: purl,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: values["library_sha256"]}},
	}, nil
}

func write(bom *cdx.BOM, out io.Writer) error {
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
}
