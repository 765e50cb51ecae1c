/** A file that anyone may read: the OpenAPI document, and the page that shows it. */
export interface PublicFile {
  type: string;
  headers?: Readonly<Record<string, string>>;
  /** Read and compressed at the first call, kept from then on. */
  content(): Promise<PublicContent>;
}

export interface PublicContent {
  plain: Buffer;
  gzipped: Buffer;
  /** Weak, since it names the content in both of its forms. */
  etag: string;
}

/** By path. */
export type PublicFiles = ReadonlyMap<string, PublicFile>;
