module embedding-service

go 1.19

require tensorrt v0.0.0

replace tensorrt => /usr/local/share/tensorrt/go
