// Command imagesbom writes the SBOM of an image: the SBOM of the binary in it, the Debian packages
// that it stands on, and the embedded engine's library where it has that.
//
//	go -C tools/imagesbom run . -version v1.2.3 -binary SBOM -status FILE [-libchdb PIN]
//
// In: a CycloneDX SBOM of the binary, the image's /var/lib/dpkg/status, the pin of libchdb. Out:
// a CycloneDX SBOM in JSON. Guarantees: the same input gives the same bytes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	var in input
	flag.StringVar(&in.name, "name", "mintlake", "name of the image")
	flag.StringVar(&in.version, "version", "", "version of the image")
	binary := flag.String("binary", "", "file with the CycloneDX SBOM of the binary, in JSON")
	status := flag.String("status", "", "file with /var/lib/dpkg/status of the image")
	libchdb := flag.String("libchdb", "", "file with the pin of libchdb, where the image holds it")
	flag.Parse()
	if err := run(in, *binary, *status, *libchdb, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "imagesbom:", err)
		os.Exit(1)
	}
}

// run reads the files and writes the SBOM.
func run(in input, binary, status, libchdb string, out io.Writer) error {
	for _, file := range []struct {
		name string
		into *[]byte
	}{{binary, &in.binary}, {status, &in.status}, {libchdb, &in.libchdb}} {
		if file.name == "" {
			continue
		}
		text, err := os.ReadFile(file.name)
		if err != nil {
			return err
		}
		*file.into = text
	}
	bom, err := in.bom()
	if err != nil {
		return err
	}
	return write(bom, out)
}
