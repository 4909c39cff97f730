FROM golang
COPY ./bin/manager /manager
