FROM scratch
COPY sink /sink
USER 65532
ENTRYPOINT ["/sink"]
