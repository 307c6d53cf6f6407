"""What the pages of the site are made of besides Markdown: pictures, the reference of the code, the build."""
