module github.com/mintlake/mintlake/tools/imagesbom

go 1.26.0

require (
	github.com/CycloneDX/cyclonedx-go v0.9.3
	github.com/package-url/packageurl-go v0.1.3
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
