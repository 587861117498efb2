# The command alone: `docker build -t tickwire .`, then `docker run --rm tickwire --help`.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends cmake g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --release --locked --features columns && strip target/release/tickwire

FROM debian:bookworm-slim
# Licences go with the binary.
COPY --from=build /source/LICENSE-APACHE /source/LICENSE-MIT /source/NOTICE /usr/share/doc/tickwire/
COPY --from=build /source/target/release/tickwire /usr/local/bin/tickwire
USER nobody
ENTRYPOINT ["tickwire"]
